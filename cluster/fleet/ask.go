package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/remote"
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
	return AskEach(ctx, f, func(config.Node) Question { return Question{Args: args} })
}

// Question is a run of airgap that only prints. Files are copied to its working directory.
type Question struct {
	Args  []string
	Files []remote.File
	Long  bool  // it runs preflight
	Err   error // the reason why the host is not asked
}

// AskEach is Ask with a question for each host. A failed preflight does not make the answer an error.
func AskEach(ctx context.Context, f *Fleet, question func(config.Node) Question) []Answer {
	if f == nil {
		return nil
	}
	outputs := map[*Member]*RemoteRun{}
	asked := map[*Member]Question{}
	var connected []*Member
	for _, m := range f.Members {
		outputs[m], asked[m] = &RemoteRun{}, question(m.Node)
		if m.client != nil {
			connected = append(connected, m)
		}
	}
	f.eachShown(ctx, f.console.Progress(), "Ask the other hosts", connected, func(ctx context.Context, m *Member) error {
		q := asked[m]
		if q.Err != nil {
			return q.Err
		}
		limit := queryLimit
		if q.Long {
			limit = preflightLimit
		}
		return m.within(ctx, limit, "airgap "+strings.Join(q.Args, " "), func(ctx context.Context) error {
			err := m.Run(ctx, outputs[m], q.Files, "", append(slices.Clone(q.Args), "--output", "json")...)
			if lacksAirgap(err) {
				return errNoProgram
			}
			if failed, is := errors.AsType[*remoteError](err); is && failed.code == exitcode.Preflight {
				return nil
			}
			return err
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
