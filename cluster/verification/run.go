package verification

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

// Outcome is the result of a verification with additional messages.
type Outcome struct {
	Report    result.Report
	Hint      string // possible reason for a missing API server; "" if unknown
	Unwritten error  // error of an output file
}

// Run verifies the cluster that the options name.
func Run(ctx context.Context, o Options, p ui.Progress) (Outcome, error) {
	began := time.Now()
	if err := o.Check(); err != nil {
		return Outcome{}, err
	}
	before, err := o.Modes.Before()
	if err != nil {
		return Outcome{}, err
	}
	v, err := o.Verification(p)
	if err != nil {
		return Outcome{}, err
	}
	client, err := kubernetes.NewForConfig(v.API)
	if err != nil {
		return Outcome{}, err
	}
	asking, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, time.Minute))
	defer cancel()
	if err := namespacesExist(asking, client, o.Scope); err != nil {
		return Outcome{}, err
	}
	cluster, err := o.Modes.Cluster(asking, client, before)
	if err != nil {
		return Outcome{}, err
	}
	v.Scope, v.Only, v.Skip, v.Since, v.Baseline = o.Scope, o.Modes.Only, o.Modes.Skip, o.Modes.From, before
	v.Snapshot, v.Listed = o.Modes.Baseline == SaveBaseline, o.Listed
	v.Timeout = o.left(time.Since(began))
	if o.Modes.Watch {
		return watch(ctx, o, v, p)
	}
	report, err := verify.Run(ctx, v)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{report, endedHint(report, site.ThisMachine().Host), errors.Join(o.Modes.Save(report, cluster, p), o.Modes.WriteTextfile(report))}, nil
}

// watch gives every change to o.Tell until ctx ends or the time is up, then how things stand.
func watch(ctx context.Context, o Options, v verify.Options, p ui.Progress) (Outcome, error) {
	p.Say("watching; Ctrl-C ends it with the result")
	v.Watch = o.Tell
	if o.Modes.Textfile != "" {
		v.Seen = complaining(o.Modes.WriteTextfile, p)
	}
	report, err := verify.Run(ctx, v)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Report: report, Unwritten: o.Modes.WriteTextfile(report)}, nil
}

// complaining reports an error once and continues: the next try may succeed.
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

// endedHint names certificates of this host that have ended or are not valid yet, where that may
// be why no API server answers: no other host can be asked for its own then.
func endedHint(report result.Report, h host.Host) string {
	if !slices.ContainsFunc(report.Findings, func(f result.Finding) bool { return f.Object == "API server" }) {
		return ""
	}
	list, unread := certs.Of(h)
	ended := slices.DeleteFunc(list, func(c certs.Certificate) bool { return c.Span().Trouble(time.Now(), 0) == "" })
	if unread != nil || len(ended) == 0 {
		return ""
	}
	return fmt.Sprintf("certificates of this host cannot be used, %s is one of %d: it %s. Run airgap certs to list them, and airgap certs renew to renew them", ended[0].File, len(ended), ended[0].Span().Trouble(time.Now(), 0))
}
