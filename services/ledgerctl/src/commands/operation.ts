import { type FirstResult, parseBusinessKey, parseTenantId } from '@onceledger/core'
import { findOperation } from '@onceledger/ledger-store'
import { CommandFailed, EXIT } from '../exit.ts'
import type { Ledger } from '../ledger.ts'
import { type Output, timeOfUs } from '../output.ts'
import type { KeyOptions } from './key-options.ts'

/** One operation and its first result, by its permanent key. */
export async function showOperation(
  ledger: Ledger,
  output: Output,
  options: KeyOptions & { readonly type: string; readonly operationId: string },
): Promise<void> {
  const types = new Set(ledger.registry.all().map((contract) => contract.name))
  if (!types.has(options.type))
    throw new CommandFailed(EXIT.usage, `there is no contract ${JSON.stringify(options.type)}; there are ${[...types].join(', ')}`)
  const { database, name } = await ledger.locate(parseTenantId(options.tenant), parseBusinessKey(options.key))
  const typeNo = (await ledger.names()).findOperationTypeNo(options.type)
  const found = typeNo === undefined ? null : await findOperation(database, name, typeNo, options.operationId)
  if (found === null)
    throw new CommandFailed(
      EXIT.finding,
      `no ${options.type} ${JSON.stringify(options.operationId)} of ${options.tenant}/${options.key} is recorded`,
    )
  const { result } = found
  output.result({ type: options.type, ...found }, () => [
    `${options.type} ${found.operationId} of ${options.tenant}/${options.key}`,
    ...resultLines(result),
    `contract version ${found.contractVersion}, bucket ${found.bucket}`,
    `intent ${found.intentDigest}`,
  ])
}

function resultLines({ verdict, reason, amountMinor, currency, accountVersion, balanceAfterMinor, committedAtUs }: FirstResult): string[] {
  const effect =
    verdict === 'APPLIED'
      ? `${amountMinor} ${currency ?? ''}, balance after ${balanceAfterMinor}, account version ${accountVersion}`
      : (reason ?? '')
  return [`first result: ${verdict} ${effect}`, `judged at ${timeOfUs(committedAtUs)}`]
}
