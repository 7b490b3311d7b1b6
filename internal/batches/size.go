// Package batches divides the workers of a cluster into batches, works on one batch, and estimates the time for the
// rest.
package batches

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/hostrange"
)

// Config is the section upgrade of airgap.yaml.
type Config struct {
	Batch          Size `yaml:"batch" json:"batch,omitempty" jsonschema_description:"Number of workers that airgap upgrade and airgap rollback change at the same time, such as 12, or a part of all workers, such as 10%. The first worker, and the first with GPUs, are alone. Control-plane hosts are always changed one by one. ssh.parallel does not limit a batch."`
	ByRack         bool `yaml:"byRack" json:"byRack,omitempty" jsonschema_description:"The workers of a batch are in one rack, nodes[].rack. Without racks, the /24 subnet of the address counts as the rack."`
	MaxUnavailable int  `yaml:"maxUnavailable" json:"maxUnavailable,omitempty" jsonschema:"minimum=1,example=15" jsonschema_description:"Maximum number of workers that are drained, cordoned or not ready at the same time. Workers that others have cordoned, or that are not ready before, count too. Default: only the batch is a limit."`
}

// Validate checks the rules that the schema cannot express.
func (c Config) Validate(at *field.Path) field.ErrorList {
	if _, err := c.Batch.Of(hostrange.Max); err != nil {
		return field.ErrorList{field.Invalid(at.Child("batch"), string(c.Batch), err.Error())}
	}
	return nil
}

// Size is the number of workers of a batch: "12", or a part of all workers: "10%". Empty: one.
type Size string

// JSONSchema is the schema, which cannot be derived from the type.
func (Size) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "string"}}, Default: 1, Examples: []any{"10%", 12}}
}

// Of returns the number of workers of a batch in a cluster with this number of workers. A part is rounded down, and
// is at least one worker.
func (s Size) Of(workers int) (int, error) {
	if s == "" {
		return 1, nil
	}
	text, part := strings.CutSuffix(string(s), "%")
	n, err := strconv.Atoi(text)
	most := hostrange.Max
	if part {
		most = 100
	}
	if err != nil || n < 1 || n > most || text != strconv.Itoa(n) {
		return 0, fmt.Errorf("want a number of workers such as 12, or a part of all workers such as 10%%")
	}
	if part {
		n = max(1, workers*n/100)
	}
	return n, nil
}
