import kafkajs, { AssignerProtocol, type PartitionAssigner } from 'kafkajs'
import { type GroupMember, spreadPartitions } from './assigner.ts'
import { describeError } from './errors.ts'
import type { CommandLogLogger } from './observer.ts'

/** Members with another name would not understand each other's metadata, so a change of its meaning changes the name. */
const PROTOCOL_NAME = 'onceledger-owned-sticky-1'

export interface OwnedAssignerOptions {
  readonly topic: string
  readonly ownedPartitions: () => Promise<readonly number[]>
  /** What this member holds now; it tells the leader, which leaves it there if it can. */
  readonly heldPartitions: () => readonly number[]
  readonly logger: CommandLogLogger
}

/** Gives the members only what their shard owns (RTE-1): the leader of the group asks, and leaves the rest to nobody. */
export function ownedPartitionsAssigner(options: OwnedAssignerOptions): PartitionAssigner {
  const { topic, logger } = options
  return ({ cluster }) => ({
    name: PROTOCOL_NAME,
    version: 1,
    protocol: ({ topics }) => {
      const userData = Buffer.from(JSON.stringify(options.heldPartitions()))
      return { name: PROTOCOL_NAME, metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData }) }
    },
    assign: async ({ members }) => {
      const known = new Set(cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId))
      const owned = await askOwned(options)
      const unknown = owned.filter((partition) => !known.has(partition))
      if (unknown.length > 0) logger.error('owned partitions do not exist in the topic and are assigned to nobody', { topic, unknown })
      const shares = spreadPartitions(
        owned.filter((partition) => known.has(partition)),
        members.map(({ memberId, memberMetadata }) => ({ memberId, held: heldBy(memberMetadata) })),
      )
      return [...shares].map(([memberId, partitions]) => {
        const assignment = { version: 1, assignment: { [topic]: partitions }, userData: Buffer.alloc(0) }
        return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(assignment) }
      })
    },
  })
}

/** A failure is marked as one to try again: the group joins anew after a delay instead of ending the process. */
async function askOwned({ ownedPartitions, topic }: OwnedAssignerOptions): Promise<readonly number[]> {
  try {
    return await ownedPartitions()
  } catch (error) {
    throw new kafkajs.KafkaJSError(`the partitions owned in ${topic} are unknown: ${describeError(error)}`, { retriable: true })
  }
}

function heldBy(memberMetadata: Buffer): GroupMember['held'] {
  const userData = AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData
  if (userData === undefined || userData.length === 0) return []
  const held: unknown = JSON.parse(userData.toString('utf8'))
  return Array.isArray(held) ? held.filter((partition): partition is number => Number.isInteger(partition)) : []
}
