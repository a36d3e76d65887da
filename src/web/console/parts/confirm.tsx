/** Acts that can't be undone: said plainly, and confirmed by typing the name of what they are about. @module */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { ServiceError } from '../service.ts'
import { Field, FieldError, Form, textIn } from './form.tsx'

const CONFLICT = 409

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  close(): void
}

/** A window over the page; Escape closes it, and the focus goes back to where it was. */
export const Dialog = ({ title, children, close }: DialogProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before it is painted: keys typed at what is seen reach the window.
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      // Once the window is gone: nothing behind it can have the focus.
      queueMicrotask(() => {
        if (before instanceof HTMLElement && document.activeElement === document.body) before.focus()
      })
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={close}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}

interface FormDialogProps extends DialogProps {
  /** What the button says. */
  readonly action: string
  readonly danger?: boolean
  /**
   * Closes the window unless it fails: then what is wrong is said in it.
   * @param closeOwn closes it before that, for what is to have the focus, which nothing behind a window can have
   */
  submit(values: FormData, closeOwn: () => void): Promise<void>
  /** Somebody else was faster: reads anew what the window is about, so that whoever closes it finds how that stands. */
  overtaken?(): Promise<void>
}

/** A form in a window. */
export const FormDialog = ({
  title,
  action,
  danger,
  submit,
  overtaken,
  close,
  children,
}: FormDialogProps) => {
  const isOpen = useRef(true)
  /** Another may be open by now. */
  const closeOwn = (): void => {
    if (isOpen.current) close()
  }
  useEffect(
    () => () => {
      isOpen.current = false
    },
    [],
  )
  return (
    <Dialog title={title} close={close}>
      <Form
        action={action}
        danger={danger}
        submit={async (values) => {
          try {
            await submit(values, closeOwn)
          } catch (error) {
            if (error instanceof ServiceError && error.status === CONFLICT) await overtaken?.()
            throw error
          }
          closeOwn()
        }}
        beside={
          <button type="button" class="plain" onClick={close}>
            Cancel
          </button>
        }
      >
        {children}
      </Form>
    </Dialog>
  )
}

/** As it can be typed by whoever sees it: a page shows blanks of any number and kind, and both forms of an accent, as one. */
const asShown = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ').trim()

interface ConfirmProps extends DialogProps, Pick<FormDialogProps, 'overtaken'> {
  /** What has to be typed. */
  readonly name: string
  readonly action: string
  run(values: FormData): Promise<void>
}

/** `children` say what will happen. */
export const Confirm = ({ title, name, action, children, run, overtaken, close }: ConfirmProps) => (
  <FormDialog
    title={title}
    action={action}
    danger
    overtaken={overtaken}
    close={close}
    submit={async (values) => {
      if (asShown(textIn(values, 'name')) !== asShown(name))
        throw new FieldError('name', `Type ${name} to go on.`)
      await run(values)
    }}
  >
    {children}
    <p>
      Type <strong class="name">{name}</strong> to confirm.
    </p>
    <Field name="name" label="Name" required autocomplete="off" />
  </FormDialog>
)
