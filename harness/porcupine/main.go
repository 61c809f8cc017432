// Reads histories of a register whose texts are numbered from standard input, one JSON array of operations a line, and
// prints for each whether it is linearizable, as Porcupine finds: a second opinion on our own judge.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/anishathalye/porcupine"
)

const lineMaxBytes = 1 << 20

// Operation is a save or a read of a revision, with times in any unit: it took effect between Begin and End.
type Operation struct {
	Kind     string `json:"kind"` // "save" or "read"
	Revision int    `json:"revision"`
	Begin    int64  `json:"begin"`
	End      int64  `json:"end"`
}

// The register holds the number of a revision, at first 0; a save succeeds on the revision before its own alone.
var register = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		asked, at := input.(Operation), state.(int)
		if asked.Kind == "read" {
			return asked.Revision == at, at
		}
		return asked.Revision == at+1, asked.Revision
	},
}

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMaxBytes)
	for lines.Scan() {
		var asked []Operation
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return fmt.Errorf("%w in %s", err, lines.Text())
		}
		operations := make([]porcupine.Operation, len(asked))
		for at, one := range asked {
			operations[at] = porcupine.Operation{ClientId: at, Input: one, Call: one.Begin, Return: one.End}
		}
		fmt.Fprintln(out, porcupine.CheckOperations(register, operations))
	}
	return lines.Err()
}
