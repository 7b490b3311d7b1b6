package fleet

import (
	"context"
	"encoding/json"
	"fmt"
)

// Answer is the JSON output of a command on another host, or why there is none.
type Answer struct {
	Host string
	JSON []byte
	Err  error
}

// maxAnswer, in bytes, is far more than a command prints about one host.
const maxAnswer = 32 << 20

// Ask runs airgap on each other host, and returns the output in the order of airgap.yaml. f can be nil.
func (f *Fleet) Ask(ctx context.Context, args ...string) []Answer {
	if f == nil {
		return nil
	}
	outputs := map[*Member]*RemoteRun{}
	for _, m := range f.Members {
		outputs[m] = &RemoteRun{}
	}
	f.Each(ctx, f.Members, func(ctx context.Context, m *Member) error {
		return m.Run(ctx, outputs[m], nil, "", append(args, "--output", "json")...)
	})
	var all []Answer
	for _, m := range f.Members {
		a := Answer{Host: m.Node.Name, JSON: outputs[m].stdout.Bytes(), Err: m.Err}
		if len(a.JSON) > maxAnswer {
			a.JSON, a.Err = nil, fmt.Errorf("airgap printed more than %d MiB", maxAnswer>>20)
		}
		all = append(all, a)
	}
	return all
}

// Read reads the answer into v.
func (a Answer) Read(v any) error {
	if a.Err != nil {
		return a.Err
	}
	var raw json.RawMessage
	if err := readResult(a.JSON, &raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
