/** The field in which somebody chooses a password. @module */
import { Field } from './form.tsx'

const MIN_PASSWORD_CHARACTERS = 10
export const MAX_PASSWORD_CHARACTERS = 1024

interface NewPasswordProps {
  readonly name?: string
  readonly label?: string
  /** What to know besides its length. */
  readonly advice?: string
}

export const NewPassword = ({ name = 'password', label = 'Password', advice = '' }: NewPasswordProps) => (
  <Field
    name={name}
    type="password"
    label={label}
    hint={`At least ${MIN_PASSWORD_CHARACTERS} characters. ${advice}`}
    required
    minLength={MIN_PASSWORD_CHARACTERS}
    maxLength={MAX_PASSWORD_CHARACTERS}
    autocomplete="new-password"
  />
)
