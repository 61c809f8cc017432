'use strict'
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0]
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells]
  headings.forEach((heading, column) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...heading.childNodes)
    heading.append(button)
    button.addEventListener('click', () => {
      const rising = heading.getAttribute('aria-sort') !== 'ascending'
      for (const other of headings) other.removeAttribute('aria-sort')
      heading.setAttribute('aria-sort', rising ? 'ascending' : 'descending')
      const value = (row) => row.cells[column].dataset.value
      const compare = (a, b) => {
        if (a === '' || b === '') return (a === '') - (b === '')
        const order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b
        return rising ? order : -order
      }
      body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b))))
    })
  })
}
