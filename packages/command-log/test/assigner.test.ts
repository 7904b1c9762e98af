import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type GroupMember, spreadPartitions } from '../src/assigner.ts'

const PARTITIONS = fc.uniqueArray(fc.nat(40))
const MEMBERS = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })
  .chain((ids) => fc.tuple(...ids.map((memberId) => fc.array(fc.nat(45)).map((held): GroupMember => ({ memberId, held })))))

function sizes(shares: ReadonlyMap<string, readonly number[]>): number[] {
  return [...shares.values()].map((share) => share.length)
}

describe('spreadPartitions', () => {
  it('[RTE-1] gives every owned partition to exactly one member, evenly, and nothing else', () => {
    fc.assert(
      fc.property(PARTITIONS, MEMBERS, (partitions, members) => {
        const shares = spreadPartitions(partitions, members)
        expect([...shares.values()].flat().sort((a, b) => a - b)).toEqual([...partitions].sort((a, b) => a - b))
        expect(Math.max(...sizes(shares)) - Math.min(...sizes(shares))).toBeLessThanOrEqual(1)
        expect([...shares.keys()].sort()).toEqual(members.map(({ memberId }) => memberId).sort())
      }),
    )
  })

  it('leaves everything where it was when nothing changed', () => {
    fc.assert(
      fc.property(PARTITIONS, MEMBERS, (partitions, members) => {
        const first = spreadPartitions(partitions, members)
        const held = [...first].map(([memberId, share]) => ({ memberId, held: share }))
        expect(spreadPartitions(partitions, held)).toEqual(first)
      }),
    )
  })

  it('moves only what a new member needs', () => {
    const shares = spreadPartitions(
      [0, 1, 2, 3, 4, 5, 6, 7],
      [
        { memberId: 'b', held: [0, 2, 4, 6] },
        { memberId: 'a', held: [1, 3, 5, 7] },
        { memberId: 'c', held: [] },
      ],
    )
    expect(shares).toEqual(
      new Map([
        ['a', [1, 3, 5]],
        ['b', [0, 2, 4]],
        ['c', [6, 7]],
      ]),
    )
  })

  it('gives what a member left behind to the others, who keep their own', () => {
    const shares = spreadPartitions(
      [0, 1, 2, 3],
      [
        { memberId: 'a', held: [3] },
        { memberId: 'b', held: [0] },
      ],
    )
    expect(shares).toEqual(
      new Map([
        ['a', [1, 3]],
        ['b', [0, 2]],
      ]),
    )
  })

  it('a group without members has no shares', () => {
    expect(spreadPartitions([1, 2], [])).toEqual(new Map())
  })
})
