import type { DemoResult } from './run.ts'

/** The stable form for programs. */
export function toJson({ judgement, messages, accounts, outOfOrder, kills, seconds }: DemoResult): Record<string, unknown> {
  return {
    events_submitted: messages,
    ...judgement.tally,
    accounts,
    balance_mismatches: judgement.balanceMismatches,
    posting_mismatches: judgement.postingMismatches,
    out_of_order: outOfOrder,
    deferred_remaining: judgement.deferredRemaining,
    gaps: judgement.gaps,
    results_published: judgement.resultsPublished,
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
  const { judgement, messages, newMessages, accounts, outOfOrder, kills, seconds } = result
  const { applied, duplicate, conflict, rejected, parked, stale } = judgement.tally
  const failed = judgement.checks.filter(({ ok }) => !ok)
  const lines = [
    'What happened',
    `  ${applied} commands for ${accounts} real bank accounts went through Kafka into two MySQL shards, and then all of them again:`,
    `  ${messages - applied - newMessages} as the same messages (a redelivery), ${newMessages} as new messages with the same operation (a user who tries again).`,
    `  ${outOfOrder} transactions came out of their account's order and had to wait for their predecessor, or were what others waited for.`,
    `  ${kills} of the three processes was killed with SIGKILL in the middle and started again.`,
    '',
    'What the ledger answered',
    `  APPLIED ${applied}   DUPLICATE ${duplicate}   CONFLICT ${conflict}   REJECTED ${rejected}   PARKED ${parked}   STALE ${stale}   still DEFERRED ${judgement.deferredRemaining}`,
    `  and published ${judgement.resultsPublished} results, each with the result that was stored first.`,
    '',
    "What was compared: the rows in MySQL with the bank's file, by a program that uses nothing of the ledger's code",
    ...judgement.checks.map(
      ({ ok, name, expected, found }) => `  ${ok ? 'ok  ' : 'FAIL'} ${name}: ${found}${ok ? '' : `, expected ${expected}`}`,
    ),
    '',
    `${messages} messages in ${seconds.toFixed(1)} s (${Math.round(messages / seconds)}/s), from the first one sent to the last one applied, the killed process's absence included.`,
    failed.length === 0 ? 'Every effect stands exactly once, in the order of its account.' : `${failed.length} checks FAILED.`,
  ]
  return `${lines.join('\n')}\n`
}
