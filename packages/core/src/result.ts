import type { Command } from './command.ts'
import type { Contract } from './contract.ts'
import { idKindOfHex, routingKey } from './identity.ts'
import type { SourceRecord } from './record.ts'
import type { FirstResult, Judgement } from './verdict.ts'

/** One verdict, to be told to whoever listens. `command` is null where the message could not become one. */
export interface Answer {
  readonly record: SourceRecord
  readonly command: Command | null
  readonly judgement: Judgement
}

export interface EncodedResult {
  readonly key: Uint8Array | string | null
  readonly value: string
}

/**
 * The answer as a CloudEvent in structured mode (JSON). Its id is the place of the answered message in its log, so an answer that is published
 * again keeps it; a command that has to wait is first answered DEFERRED under an id of its own.
 *
 * Written member by member from parts that are remembered: this is done for every message, and what is made anew is collected anew.
 */
export function encodeResult({ record, command, judgement }: Answer): EncodedResult {
  const { topic, partition, offset } = record.position
  const place = placeParts(topic, partition)
  const at = offset.toString()
  const { first } = judgement
  const value =
    place.head +
    at +
    (judgement.verdict === 'DEFERRED' ? '-deferred' : '') +
    place.source +
    (command === null ? '' : whose(command)) +
    verdictPart(judgement) +
    (command === null ? NO_COMMAND : which(command)) +
    place.command +
    at +
    (first === null ? NO_FIRST : firstText(first))
  return { key: command === null ? record.key : routingKey(command.tenantId, command.businessKey), value }
}

const NO_COMMAND = '"type":null,"id":null,"operationid":null,"aggregateversion":null'
const NO_FIRST = '"},"first":null}}'

interface PlaceParts {
  readonly head: string
  readonly source: string
  readonly command: string
}

const PLACES_MAX = 10_000
const places = new Map<string, (PlaceParts | undefined)[]>()

function placeParts(topic: string, partition: number): PlaceParts {
  let ofTopic = places.get(topic)
  if (ofTopic === undefined) {
    if (places.size >= PLACES_MAX) places.clear()
    ofTopic = []
    places.set(topic, ofTopic)
  }
  const known = ofTopic[partition]
  if (known !== undefined) return known
  const parts = {
    head: `{"specversion":"1.0","id":"${partition}-`,
    source: `","source":${text(`/onceledger/${topic}`)},"type":"onceledger.result.v1",`,
    command: `,"topic":${text(topic)},"partition":${partition},"offset":"`,
  }
  ofTopic[partition] = parts
  return parts
}

const OWNERS_MAX = 10_000
const owners = new Map<string, string>()

/** Accounts are met again and again. */
function whose({ aggregateId, tenantId, businessKey }: Command): string {
  const known = owners.get(aggregateId)
  if (known !== undefined) return known
  const part = `"tenantid":${text(tenantId)},"businesskey":${text(businessKey)},`
  if (owners.size >= OWNERS_MAX) owners.clear()
  owners.set(aggregateId, part)
  return part
}

const APPLIED = '"data":{"verdict":"APPLIED","reason":null,"command":{'

function verdictPart({ verdict, reason }: Judgement): string {
  if (verdict === 'APPLIED') return APPLIED
  return `"data":{"verdict":"${verdict}","reason":${reason === null ? 'null' : text(reason)},"command":{`
}

function which({ contract, eventId, eventIdHex, operationId, operationIdHex, aggregateVersion }: Command): string {
  const operation = operationId === null || operationIdHex === null ? 'null' : idText(operationId, operationIdHex)
  const version = aggregateVersion === null ? 'null' : `"${aggregateVersion}"`
  return `${typePart(contract)}${idText(eventId, eventIdHex)},"operationid":${operation},"aggregateversion":${version}`
}

const types = new WeakMap<Contract, string>()

function typePart(contract: Contract): string {
  const known = types.get(contract)
  if (known !== undefined) return known
  const part = `"type":"${contract.name}.v${contract.version}","id":`
  types.set(contract, part)
  return part
}

function firstText({ verdict, reason, currency, amountMinor, balanceAfterMinor, accountVersion, committedAtUs }: FirstResult): string {
  const head = verdict === 'APPLIED' && currency !== null ? appliedPart(currency) : refusedPart(reason)
  return `${head}${amountMinor}","balanceAfter":"${balanceAfterMinor}","accountVersion":"${accountVersion}${committedPart(committedAtUs)}`
}

const CURRENCIES_MAX = 1_000
const currencies = new Map<string, string>()

function appliedPart(currency: string): string {
  const known = currencies.get(currency)
  if (known !== undefined) return known
  const part = `"},"first":{"verdict":"APPLIED","reason":null,"currency":${text(currency)},"amount":"`
  if (currencies.size >= CURRENCIES_MAX) currencies.clear()
  currencies.set(currency, part)
  return part
}

function refusedPart(reason: string | null): string {
  return `"},"first":{"verdict":"REJECTED","reason":${reason === null ? 'null' : text(reason)},"currency":null,"amount":"`
}

let lastCommittedUs = -1n
let lastCommittedPart = ''

/** All results of a transaction share its time. */
function committedPart(us: bigint): string {
  if (us !== lastCommittedUs) {
    lastCommittedPart = `","committedAt":"${usToIso(us)}"}}}`
    lastCommittedUs = us
  }
  return lastCommittedPart
}

/** UUIDs and ULIDs hold nothing that JSON would escape. */
function idText(id: string, idHex: string): string {
  return idKindOfHex(idHex) === 'opaque' ? text(id) : `"${id}"`
}

/** ASCII without quotation marks, backslashes and control characters. */
const PLAIN = /^[ !#-[\]-~]*$/

function text(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
}

let lastSecond = -1n
let lastSecondIso = ''

/** RFC 3339 with microseconds. Neighbours share their second. */
export function usToIso(us: bigint): string {
  const second = us / 1_000_000n
  if (second !== lastSecond) {
    lastSecondIso = new Date(Number(second) * 1000).toISOString().slice(0, 19)
    lastSecond = second
  }
  return `${lastSecondIso}.${(us % 1_000_000n).toString().padStart(6, '0')}Z`
}

/** Where results of a command topic are published: `ledger.commands` has `ledger.results`. */
export function resultsTopicOf(commandTopic: string): string {
  return siblingTopic(commandTopic, 'results')
}

/** Where the predecessors of waiting commands are asked for (ORD-3). */
export function gapsTopicOf(commandTopic: string): string {
  return siblingTopic(commandTopic, 'gaps')
}

function siblingTopic(commandTopic: string, name: string): string {
  return `${commandTopic.replace(/\.commands$/, '')}.${name}`
}
