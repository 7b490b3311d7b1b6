package fleet

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Answer is the JSON output of a command on another host, or why there is none.
type Answer struct {
	Host string
	JSON []byte
	Err  error
}

// Ask runs airgap on each other host, and returns the output in the order of airgap.yaml. A host without a connection
// answers with its error. f can be nil.
func (f *Fleet) Ask(ctx context.Context, args ...string) []Answer {
	if f == nil {
		return nil
	}
	outputs := map[*Member]*RemoteRun{}
	var connected []*Member
	for _, m := range f.Members {
		outputs[m] = &RemoteRun{}
		if m.client != nil {
			connected = append(connected, m)
		}
	}
	what := "airgap " + strings.Join(args, " ")
	f.eachShown(ctx, f.console.Progress(), "Ask the other hosts", connected, func(ctx context.Context, m *Member) error {
		return m.within(ctx, queryLimit, what, func(ctx context.Context) error {
			return m.Run(ctx, outputs[m], nil, "", append(slices.Clone(args), "--output", "json")...)
		})
	})
	f.console.EndProgress()
	var all []Answer
	for _, m := range f.Members {
		all = append(all, Answer{Host: m.Node.Name, JSON: outputs[m].stdout.Bytes(), Err: m.Err})
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
