import type { DemoResult } from './run.ts'

/** The stable form for programs. */
export function toJson({ judgement, messages, accounts, kills, seconds }: DemoResult): Record<string, unknown> {
  return {
    events_submitted: messages,
    ...judgement.tally,
    accounts,
    balance_mismatches: judgement.balanceMismatches,
    balances_sum: judgement.balancesSum.toString(),
    lag: Number(judgement.lag),
    kills,
    seconds: Number(seconds.toFixed(1)),
    events_per_second: Math.round(messages / seconds),
    checks: judgement.checks,
  }
}

/** The same for a person. */
export function toText(result: DemoResult): string {
  const { judgement, messages, newMessages, accounts, kills, seconds } = result
  const { applied, duplicate, conflict, rejected, parked } = judgement.tally
  const failed = judgement.checks.filter(({ ok }) => !ok)
  const lines = [
    'What happened',
    `  ${applied} commands for ${accounts} real bank accounts went through Kafka into two MySQL shards, and then all of them again:`,
    `  ${messages - applied - newMessages} as the same messages (a redelivery), ${newMessages} as new messages with the same operation (a user who tries again).`,
    `  ${kills} of the three processes was killed with SIGKILL in the middle and started again.`,
    '',
    'What the ledger answered',
    `  APPLIED ${applied}   DUPLICATE ${duplicate}   CONFLICT ${conflict}   REJECTED ${rejected}   PARKED ${parked}`,
    '',
    "What was compared: the rows in MySQL with the bank's file, by a program that uses nothing of the ledger's code",
    ...judgement.checks.map(
      ({ ok, name, expected, found }) => `  ${ok ? 'ok  ' : 'FAIL'} ${name}: ${found}${ok ? '' : `, expected ${expected}`}`,
    ),
    '',
    `${messages} messages in ${seconds.toFixed(1)} s (${Math.round(messages / seconds)}/s), from the first one sent to the last one applied, the killed process's absence included.`,
    failed.length === 0 ? 'Every effect stands exactly once.' : `${failed.length} checks FAILED.`,
  ]
  return `${lines.join('\n')}\n`
}
