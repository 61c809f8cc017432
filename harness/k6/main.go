// Command k6 is k6 with one more output, `--out stevec=FILE`: one row for each request, where k6's CSV has fourteen.
// An output requires a k6 of one's own: https://grafana.com/docs/k6/latest/extensions/create/output-extensions/
package main

import (
	"go.k6.io/k6/cmd"
	"go.k6.io/k6/output"
)

func main() {
	output.RegisterExtension("stevec", newRows)
	cmd.Execute()
}
