/** A member of the group and the partitions it held before this round. */
export interface GroupMember {
  readonly memberId: string
  readonly held: readonly number[]
}

/**
 * Spreads the partitions evenly (sizes differ by one at most), leaving as many as possible where they were. Partitions outside the list go
 * to nobody. The same input gives the same answer.
 */
export function spreadPartitions(partitions: readonly number[], members: readonly GroupMember[]): Map<string, number[]> {
  const byId = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
  if (byId.length === 0) return new Map()
  const wanted = [...new Set(partitions)].sort((a, b) => a - b)
  const claims = claimsOf(byId, new Set(wanted))
  const base = Math.floor(wanted.length / byId.length)
  const extra = wanted.length % byId.length
  // The members that hold most get the larger shares: fewer partitions move.
  const byClaims = [...byId].sort((a, b) => claimCount(claims, b) - claimCount(claims, a))
  const quota = new Map(byClaims.map((member, rank) => [member.memberId, base + (rank < extra ? 1 : 0)]))
  const shares = new Map(byId.map(({ memberId }) => [memberId, (claims.get(memberId) ?? []).slice(0, quota.get(memberId))]))
  const placed = new Set([...shares.values()].flat())
  const homeless = wanted.filter((partition) => !placed.has(partition))
  for (const [memberId, share] of shares) {
    share.push(...homeless.splice(0, (quota.get(memberId) ?? 0) - share.length))
    share.sort((a, b) => a - b)
  }
  return shares
}

/** Two members may claim one partition after a lost round: the first by id keeps it. */
function claimsOf(members: readonly GroupMember[], wanted: ReadonlySet<number>): Map<string, number[]> {
  const taken = new Set<number>()
  const claims = new Map<string, number[]>()
  for (const { memberId, held } of members) {
    const kept = [...held].sort((a, b) => a - b).filter((partition) => wanted.has(partition) && !taken.has(partition))
    for (const partition of kept) taken.add(partition)
    claims.set(memberId, [...new Set(kept)])
  }
  return claims
}

function claimCount(claims: ReadonlyMap<string, readonly number[]>, member: GroupMember): number {
  return claims.get(member.memberId)?.length ?? 0
}
