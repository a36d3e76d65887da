/** What was used on each of the last days: results, and what pods charged. @module */
import { useLocation } from 'preact-iso'
import { systemClock } from '../../../clock.ts'
import type { UsageDay, UsageDays } from '../../../domain/usage/schemas.ts'
import { Loaded, useReading } from '../parts/loaded.tsx'
import { Table } from '../parts/table.tsx'
import { money, number } from '../parts/text.tsx'
import { Days, dayText } from './days.tsx'

const DAY_MS = 24 * 3_600_000
const SPANS_DAYS = [30, 90, 365] as const
const USUAL = SPANS_DAYS[0]

const chargedOn = ({ charges }: UsageDay, currency: string): number =>
  charges.find((one) => one.currency === currency)?.amount ?? 0

const DayTable = ({ days }: { readonly days: readonly UsageDay[] }) => (
  <details class="box">
    <summary>The days as a table</summary>
    <Table
      caption="Usage by day, the last one first; days without any are left out"
      rows={days.filter(({ results, charges }) => results > 0 || charges.length > 0)}
      keyOf={({ day }) => day}
      empty={<p>Nothing was used on these days.</p>}
      columns={[
        { title: 'Day (UTC)', cell: ({ day }) => dayText(day) },
        { title: 'Results', cell: ({ results }) => number(results) },
        { title: 'With proof', cell: ({ proofs }) => number(proofs) },
        {
          title: 'Made for',
          cell: ({ byCategory }) =>
            Object.entries(byCategory)
              .map(([category, results]) => `${category} ${number(results)}`)
              .join(', '),
        },
        {
          title: 'Charged',
          cell: ({ charges }) =>
            charges.map(({ amount, currency }) => money(amount, currency)).join(', ') || '–',
        },
      ]}
    />
  </details>
)

const Plots = ({ days }: { readonly days: readonly UsageDay[] }) => {
  const upwards = [...days].reverse()
  const results = days.reduce((sum, day) => sum + day.results, 0)
  const currencies = [...new Set(days.flatMap(({ charges }) => charges.map(({ currency }) => currency)))]
  return (
    <>
      <Days
        title={`Results: ${number(results)}`}
        days={upwards.map((one) => ({ day: one.day, value: one.results }))}
        format={number}
      />
      {currencies.map((currency) => (
        <Days
          key={currency}
          title={`Charged by pods: ${money(
            days.reduce((sum, day) => sum + chargedOn(day, currency), 0),
            currency,
          )}`}
          days={upwards.map((one) => ({ day: one.day, value: chargedOn(one, currency) }))}
          format={(value) => money(value, currency)}
        />
      ))}
    </>
  )
}

export const UsageByDay = () => {
  const { query, path } = useLocation()
  const span = SPANS_DAYS.find((days) => String(days) === query.days) ?? USUAL
  const from = new Date(systemClock.now() - (span - 1) * DAY_MS).toISOString().slice(0, 10)
  const reading = useReading<UsageDays>(`/console/api/usage?from=${from}`)
  return (
    <>
      <p class="filters">
        {SPANS_DAYS.map((days) => (
          <a
            key={days}
            href={days === USUAL ? path : `${path}?days=${days}`}
            aria-current={days === span ? 'true' : undefined}
          >
            {days} days
          </a>
        ))}
      </p>
      <Loaded of={reading}>
        {({ days }) => (
          <>
            <Plots days={days} />
            <DayTable days={days} />
          </>
        )}
      </Loaded>
    </>
  )
}
