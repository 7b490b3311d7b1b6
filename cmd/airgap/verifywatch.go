package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify/result"
)

// watch prints every change, then how things stand. Changes are results, so the progress here is
// not one that ends with the first result.
func watch(ctx context.Context, a *app, o verdict.Options) error {
	p := ui.New(a.stderr, ui.Format(a.progress))
	o.Tell = teller(a, p)
	done, err := verdict.Run(ctx, o, p)
	if err == nil && a.output == asJSON {
		o.Tell(result.Event{Time: time.Now(), Event: result.Verdict, Report: &done.Report})
	}
	p.Close()
	if err == nil && a.output == asJSON {
		return after(done)
	}
	return a.finishVerdict(done, err)
}

// teller writes events as lines on stdout; where that is the terminal on which
// the rules are drawn, above them.
func teller(a *app, p ui.Progress) func(result.Event) {
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
