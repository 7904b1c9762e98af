import type { Command } from './command.ts'
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
 * Written member by member: this is done for every message, and JSON.stringify of a nested object takes several times as long.
 */
export function encodeResult({ record, command, judgement }: Answer): EncodedResult {
  const { topic, partition, offset } = record.position
  const { verdict, reason, first } = judgement
  const id = `${partition}-${offset}${verdict === 'DEFERRED' ? '-deferred' : ''}`
  const value =
    `{"specversion":"1.0","id":"${id}","source":${text(`/onceledger/${topic}`)},"type":"onceledger.result.v1",` +
    `${command === null ? '' : whose(command)}"data":{"verdict":"${verdict}","reason":${reason === null ? 'null' : text(reason)},` +
    `"command":{${command === null ? NO_COMMAND : which(command)},"topic":${text(topic)},"partition":${partition},"offset":"${offset}"},` +
    `"first":${first === null ? 'null' : firstText(first)}}}`
  return { key: command === null ? record.key : routingKey(command.tenantId, command.businessKey), value }
}

const NO_COMMAND = '"type":null,"id":null,"operationid":null,"aggregateversion":null'

function whose({ tenantId, businessKey }: Command): string {
  return `"tenantid":${text(tenantId)},"businesskey":${text(businessKey)},`
}

function which({ contract, eventId, eventIdHex, operationId, operationIdHex, aggregateVersion }: Command): string {
  return (
    `"type":"${contract.name}.v${contract.version}","id":${idText(eventId, eventIdHex)},` +
    `"operationid":${operationId === null || operationIdHex === null ? 'null' : idText(operationId, operationIdHex)},` +
    `"aggregateversion":${aggregateVersion === null ? 'null' : `"${aggregateVersion}"`}`
  )
}

function firstText(first: FirstResult): string {
  return (
    `{"verdict":"${first.verdict}","reason":${first.reason === null ? 'null' : `"${first.reason}"`},` +
    `"currency":${first.currency === null ? 'null' : text(first.currency)},"amount":"${first.amountMinor}",` +
    `"balanceAfter":"${first.balanceAfterMinor}","accountVersion":"${first.accountVersion}","committedAt":"${usToIso(first.committedAtUs)}"}`
  )
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
