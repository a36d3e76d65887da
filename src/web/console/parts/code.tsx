/** The field of a one-time code. @module */
import { Field } from './form.tsx'

const MAX_CODE_CHARACTERS = 64

/** @param recovery whether a recovery code does as well */
export const CodeField = ({ recovery = true }: { readonly recovery?: boolean }) => (
  <Field
    name="code"
    label="One-time code"
    hint={
      recovery
        ? 'Six digits of your authenticator app, or a recovery code.'
        : 'Six digits, as the app shows them now.'
    }
    required
    maxLength={MAX_CODE_CHARACTERS}
    autocomplete="one-time-code"
  />
)
