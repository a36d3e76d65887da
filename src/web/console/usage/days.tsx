/** A figure for each of some days, as bars. What they say stands in a table as well. @module */

export interface DayFigure {
  /** 2026-01-31 */
  readonly day: string
  readonly value: number
}

/** Of the drawing, in its own units: it is stretched to its place. */
const HEIGHT = 100
const STEP = 10
const GAP = 2

const FORMAT = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const FORMAT_WITH_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

export const dayText = (day: string): string => FORMAT_WITH_YEAR.format(new Date(day))

interface DaysProps {
  readonly title: string
  /** The first one first. */
  readonly days: readonly DayFigure[]
  format(value: number): string
}

export const Days = ({ title, days, format }: DaysProps) => {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return null
  const most = days.reduce((one, other) => (other.value > one.value ? other : one), first)
  const scale = most.value === 0 ? 0 : HEIGHT / most.value
  const summary =
    most.value === 0
      ? `${title}: none from ${dayText(first.day)} to ${dayText(last.day)}.`
      : `${title} from ${dayText(first.day)} to ${dayText(last.day)}: most on ${dayText(most.day)}, ${format(most.value)}.`
  return (
    <figure class="days">
      <figcaption>
        {title} <span class="quiet">{most.value > 0 && `${format(most.value)} on the busiest day`}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary}
      >
        {days.map(({ day, value }, at) => (
          <rect
            key={day}
            x={at * STEP + GAP / 2}
            y={HEIGHT - value * scale}
            width={STEP - GAP}
            height={value * scale}
          >
            <title>{`${dayText(day)}: ${format(value)}`}</title>
          </rect>
        ))}
      </svg>
      <p class="ends" aria-hidden="true">
        <span>{FORMAT.format(new Date(first.day))}</span>
        <span>{FORMAT.format(new Date(last.day))}</span>
      </p>
    </figure>
  )
}
