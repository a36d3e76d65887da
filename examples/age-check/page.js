// Asks this site's own server, which asks the service: no key is in here.
const POLL_MS = 1000
const byId = (id) => document.getElementById(id)

const say = (state, ...lines) => {
  const outcome = byId('outcome')
  outcome.dataset.state = state
  outcome.replaceChildren(
    ...lines.map((line, i) => {
      const element = document.createElement('p')
      if (i === 0) element.className = 'word'
      element.textContent = line
      return element
    }),
  )
}

const ENDS = {
  failed: ['Not accepted', 'The answers that came did not hold.'],
  expired: ['No answer', 'The time to answer is over.'],
}

const showAnswer = ({ answer, issuer, binding, purpose, time }) =>
  say(
    answer,
    answer,
    `${answer === 'YES' ? 'You are over 18' : 'Not shown to be over 18'}, says ${issuer}.`,
    `Purpose: ${purpose}. Time: ${new Date(time).toLocaleString()}.`,
    binding === 'holder'
      ? 'Proven with the holder’s own secret.'
      : 'Proven with a credential that its bearer may use.',
  )

const wait = async () => {
  const response = await fetch('/answer')
  const told = await response.json()
  if (!response.ok) throw new Error(told.error)
  if (told.answer) showAnswer(told)
  else if (ENDS[told.state]) say(told.state, ...ENDS[told.state], ...told.reasons)
  else {
    // Somebody tried already, and may try again.
    if (told.reasons.length > 0)
      say('waiting', 'Waiting for another answer…', `The last one did not hold: ${told.reasons.join(', ')}`)
    setTimeout(() => wait().catch(fail), POLL_MS)
    return
  }
  byId('question').hidden = true
  byId('ask').hidden = false
}

const fail = (error) => {
  say('failed', 'That did not work', error.message)
  byId('ask').hidden = false
}

const ask = async () => {
  byId('ask').hidden = true
  say('waiting', 'One moment…')
  const response = await fetch('/question', { method: 'POST' })
  const question = await response.json()
  if (!response.ok) throw new Error(question.error)
  byId('code').src = `data:image/svg+xml,${encodeURIComponent(question.qr)}`
  byId('here').href = question.request_url
  byId('question').hidden = false
  say('waiting', 'Waiting for your answer…')
  await wait()
}

byId('ask').addEventListener('click', () => ask().catch(fail))
