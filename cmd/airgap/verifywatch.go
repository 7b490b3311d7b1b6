package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/result"
)

// watch prints every change, then the last result. Changes are results, but they do not end the
// progress.
func watch(ctx context.Context, a *app, o verification.Options) error {
	p := ui.New(a.stderr, ui.Format(a.progress))
	o.Tell = eventPrinter(a, p)
	done, err := verification.Run(ctx, o, p)
	if err == nil && a.output == asJSON {
		o.Tell(result.Event{Time: time.Now(), Event: result.Last, Report: &done.Report})
	}
	p.Close()
	if err == nil && a.output == asJSON {
		return verifyError(done)
	}
	return a.finishVerdict(done, err)
}

// eventPrinter writes events as lines to stdout. If stdout is the terminal that shows the
// progress bars, the lines appear above the bars.
func eventPrinter(a *app, p ui.Progress) func(result.Event) {
	say := func(line string) { fmt.Fprintln(a.stdout, line) }
	drawn := a.progress == string(ui.Auto) || a.progress == string(ui.Bars)
	if out, is := a.stdout.(*results); is && drawn && ui.IsTerminal(out.w) && ui.IsTerminal(a.stderr) {
		say = func(line string) { p.Say("%s", line) }
	}
	return func(e result.Event) {
		line := e.String()
		if a.output == asJSON {
			data, err := json.Marshal(e)
			if err != nil {
				data = fmt.Appendf(nil, `{"event":"error","text":%q}`, err)
			}
			line = string(data)
		}
		say(line)
	}
}
