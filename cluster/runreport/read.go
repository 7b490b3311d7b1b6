package runreport

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// Options are the options of Make.
type Options struct {
	Since    string   // of ParseSince; "": all runs
	Last     bool     // only the last run of each host
	AllHosts bool     // also the hosts of airgap.yaml, through SSH
	Dir      string   // new directory for the signed report; "": none
	SignKey  string   // file with the key; required with Dir
	Keys     []string // values of --require-key
	Console  ui.Console
}

// Make reads the journal of this host, and of the other hosts if asked, and saves the report if asked. The error of
// another host is in its part of the report.
func Make(ctx context.Context, o Options) (*Report, error) {
	if (o.Dir == "") != (o.SignKey == "") {
		return nil, advice.Usagef("airgap report run: --out and --sign-key require each other")
	}
	if err := hostcheck.MustBeInstalled("report run"); err != nil {
		return nil, err
	}
	r, err := read(ctx, o)
	if err == nil && o.Dir != "" {
		err = r.save(o.Dir, o.SignKey)
	}
	return r, err
}

func read(ctx context.Context, o Options) (*Report, error) {
	choice := Choice{Last: o.Last}
	if o.Since != "" {
		var err error
		if choice.Since, err = ParseSince(o.Since, time.Now()); err != nil {
			return nil, err
		}
	}
	entries, err := step.OpenJournal(site.JournalFile).Runs()
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	r := &Report{Hosts: []Host{{Host: name, Runs: choice.of(runsOf(entries))}}}
	if !o.AllHosts {
		return r, nil
	}
	return r, r.askOthers(ctx, o, choice)
}

// askOthers adds the reports of the other hosts of airgap.yaml.
func (r *Report) askOthers(ctx context.Context, o Options, choice Choice) error {
	s, err := site.Stored(o.Keys, "")
	if err != nil {
		return err
	}
	r.Hosts[0].Host = s.Node.Name
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: o.Console, Partial: true})
	if err != nil {
		return err
	}
	if f == nil && len(s.Config.Nodes) > 1 {
		return advice.Add(errors.New("report the runs on all hosts: airgap.yaml has no section ssh"), "run airgap report run on each host")
	}
	defer f.Close()
	for _, a := range f.Ask(ctx, choice.args()...) {
		var there Report
		h := Host{Host: a.Host}
		if err := a.Read(&there); err != nil {
			h.Error = err.Error()
		} else if len(there.Hosts) > 0 {
			h.Runs = there.Hosts[0].Runs
		}
		r.Hosts = append(r.Hosts, h)
	}
	r.link()
	return nil
}

// args are the arguments of the command on another host.
func (c Choice) args() []string {
	args := []string{"report", "run", "--last=" + strconv.FormatBool(c.Last)}
	if !c.Since.IsZero() {
		args = append(args, "--since", c.Since.UTC().Format(time.RFC3339))
	}
	return args
}

// save writes the report into a new directory: report.html, report.json, and their checksums, signed with the key in
// a file. The directory has the public key.
func (r *Report) save(dir, keyFile string) error {
	key, err := bundle.LoadSigningKey(keyFile)
	if err != nil {
		return err
	}
	var page, data bytes.Buffer
	if err := errors.Join(r.HTML(&page), output.JSON(&data, r)); err != nil {
		return err
	}
	return bundle.WriteSigned(dir, []bundle.StickFile{bundle.StickBytes("report.html", page.Bytes()), bundle.StickBytes("report.json", data.Bytes())}, key)
}
