import { createConnection } from 'mysql2/promise'

const TIMEOUT_MS = 3_000

/**
 * Whether the server at a `mysql://` URL lets us in and answers a query: undefined when it does,
 * else what is wrong.
 */
export async function findMysqlProblem(url: string): Promise<string | undefined> {
  try {
    const connection = await createConnection({ uri: url, connectTimeout: TIMEOUT_MS })
    try {
      await connection.query({ sql: 'SELECT 1', timeout: TIMEOUT_MS })
      return undefined
    } finally {
      connection.destroy()
    }
  } catch (error) {
    // Refused, starting, no such user: every failure of a health check is its answer.
    return describeFailure(error)
  }
}

function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) {
    throw error
  }
  return error.message === '' ? error.name : error.message
}
