package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

// watch tells every change until ctx ends or the time is up, then how things
// stand. Changes are results, so the progress here is not one that ends with
// the first result.
func (a *app) watch(ctx context.Context, v verify.Options, m verdict.Modes) error {
	a.endProgress()
	p := ui.New(a.stderr, ui.Format(a.progress))
	p.Say("watching; Ctrl-C ends it with the verdict")
	tell := a.teller(p)
	v.Progress, v.Watch = p, tell
	if m.Textfile != "" {
		v.Seen = complaining(m.WriteTextfile, p)
	}
	report, err := verify.Run(ctx, v)
	failed := m.WriteTextfile(report)
	if a.output == asJSON {
		tell(result.Event{Time: time.Now(), Event: result.Verdict, Report: &report})
	}
	p.Close()
	if err != nil {
		return err
	}
	if a.output == asText {
		return after(a.showVerdict(report), failed)
	}
	return after(exitOf(report), failed)
}

// complaining says what went wrong once, and goes on: the next time may do.
func complaining(write func(result.Report) error, p ui.Progress) func(result.Report) {
	said := ""
	return func(r result.Report) {
		err := write(r)
		if err != nil && err.Error() != said {
			p.Say("%v", err)
		}
		said = fmt.Sprint(err)
	}
}

// teller writes events as lines on stdout; where that is the terminal on which
// the rules are drawn, above them.
func (a *app) teller(p ui.Progress) func(result.Event) {
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
