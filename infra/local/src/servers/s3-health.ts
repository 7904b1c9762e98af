import { systemCodeOf } from '../errors.ts'

const TIMEOUT_MS = 3_000

/** A path that no bucket can have: bucket names do not start with an underscore. */
export const HEALTH_PATH = '/_health'

/** Whether the gateway of our own stack says that it is healthy: undefined, else what is wrong. */
export async function findGatewayProblem(endpoint: string): Promise<string | undefined> {
  const answer = await ask(new URL(HEALTH_PATH, endpoint))
  return answer === 200 ? undefined : `${endpoint} answered ${answer}`
}

/**
 * Whether any S3 server answers: undefined, else what is wrong. A request without a signature is
 * refused (403), and that is an answer.
 */
export async function findS3Problem(endpoint: string): Promise<string | undefined> {
  const answer = await ask(new URL(endpoint))
  return typeof answer === 'number' && answer < 500 ? undefined : `${endpoint} answered ${answer}`
}

/** The HTTP status, or why there was none. */
async function ask(url: URL): Promise<number | string> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    if (error instanceof TypeError) {
      return `nothing (${systemCodeOf(error.cause) ?? error.message})`
    }
    if (error instanceof DOMException) {
      return `nothing (${error.name})`
    }
    throw error
  }
}
