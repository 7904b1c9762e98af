import { describe, expect, it } from 'vitest'
import { classifyFault, isDatabaseFault } from '../src/fault.ts'
import { serverError } from './builders.ts'

const TRANSIENT_ELSEWHERE = [
  1040, 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1290, 1317, 1792, 1836, 2006, 2013, 3024, 3100, 3101, 3168, 3169, 4031,
]
const DATA = [1406, 1264, 1366, 1292, 1048, 3819, 1690, 1242, 3140, 3141]
const UNAVAILABLE = [1054, 1064, 1146, 1045, 1114, 1021, 1030, 1180, 1526, 9999]
const NETWORK = ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'PROTOCOL_CONNECTION_LOST', 'PROTOCOL_SEQUENCE_TIMEOUT']

describe('faults', () => {
  it('[ADJ-4] a duplicate key has a branch of its own', () => {
    expect(classifyFault(serverError(1062))).toEqual({ kind: 'duplicate-key', code: '1062', connectionUsable: true })
  })

  it.each([1213, 1205])('[ADJ-4] %i (deadlock, lock wait) is tried again on the same connection', (errno) => {
    expect(classifyFault(serverError(errno))).toEqual({ kind: 'transient', code: String(errno), connectionUsable: true })
  })

  it.each(TRANSIENT_ELSEWHERE)('[ADJ-4] %i is tried again on another connection', (errno) => {
    expect(classifyFault(serverError(errno))).toEqual({ kind: 'transient', code: String(errno), connectionUsable: false })
  })

  it.each(NETWORK)('[ADJ-4] %s is tried again on another connection', (code) => {
    expect(classifyFault(Object.assign(new Error(code), { code, errno: -104 }))).toEqual({
      kind: 'transient',
      code,
      connectionUsable: false,
    })
  })

  it('[ADJ-4] a command on a connection that ended while it was lent is tried again, although the driver gives no code', () => {
    const error = Object.assign(new Error("Can't add new command when connection is in closed state"), { fatal: true })
    expect(classifyFault(error)).toEqual({ kind: 'transient', code: 'CONNECTION_CLOSED', connectionUsable: false })
    expect(isDatabaseFault(error)).toBe(true)
  })

  it.each(DATA)('[ADJ-4] [ADJ-7] %i is the data of one message', (errno) => {
    expect(classifyFault(serverError(errno))).toEqual({ kind: 'data', code: String(errno), connectionUsable: true })
  })

  it.each(UNAVAILABLE)("[ADJ-4] %i is nobody's data: it never parks", (errno) => {
    expect(classifyFault(serverError(errno))).toEqual({ kind: 'unavailable', code: String(errno), connectionUsable: false })
  })

  it('[ADJ-4] the text of a message decides nothing', () => {
    const lying = new Error('Duplicate entry for key; Deadlock found; Lock wait timeout exceeded')
    expect(classifyFault(lying)).toEqual({ kind: 'unavailable', code: 'UNKNOWN', connectionUsable: false })
    expect(isDatabaseFault(lying)).toBe(false)
  })
})
