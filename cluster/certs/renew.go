package certs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/verify/nodereport"
)

// RenewOptions are the flags of airgap certs renew.
type RenewOptions struct {
	Within  string // "90d", "12h": a certificate that expires in that time is due
	All     bool   // all certificates are due
	Alone   bool   // do not wait for the turns of other control-plane hosts
	Console ui.Console
}

// Renewed is the result of Renew.
type Renewed struct {
	pki.Renewed

	NextEnds time.Time `json:"nextEnds,omitzero"` // next expiry of a certificate that airgap renews
	Next     string    `json:"next,omitempty"`    // file of that certificate
	// KubeletRotates is true if the kubelet renews its own client certificate.
	KubeletRotates bool `json:"kubeletRotates"`
}

// Renew renews the due certificates of kubeadm and of the registry on this host, and restarts the programs
// that read them only at start.
func Renew(ctx context.Context, o RenewOptions) (*Renewed, error) {
	within, err := o.span()
	if err != nil {
		return nil, err
	}
	if err := hostcheck.MustBeInstalled("certs renew"); err != nil {
		return nil, err
	}
	m := site.ThisMachine()
	if joined, err := m.Joined(); err != nil || !joined {
		return nil, errors.Join(err, advice.Add(errors.New("renew certificates: this host is not a node of an airgap cluster"), "run the command on a host of the cluster"))
	}
	if err := pki.RefuseDuringCARotation(m.Machine, "renew certificates"); err != nil {
		return nil, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return nil, err
	}
	defer release()
	p := o.Console.Progress()
	done, record := &Renewed{}, journal.NewAction("renew-certificates", "Renew the certificates of this host")
	if site.Exists(pki.RenewalFile) {
		if err := record.Begin("continue an interrupted renewal"); err != nil {
			return nil, err
		}
	}
	due := func() ([]string, error) {
		files, err := dueCertificates(m.Host, time.Now(), within)
		if err == nil && len(files) > 0 {
			err = record.Begin(files...)
		}
		return files, err
	}
	renewal := pki.Renewal{Machine: m.Machine, Say: p.Say}
	if !o.Alone {
		renewal.Turn = func(ctx context.Context, resumed bool) (func(), error) { return takeTurn(ctx, m, resumed, p.Say) }
	}
	done.Renewed, err = renewal.Run(ctx, due)
	if err == nil {
		err = done.renewRegistry(within)
	}
	if err := record.End(err); err != nil {
		return nil, err
	}
	return done, done.setNext(m)
}

// takeTurn waits until no other control-plane host restarts its API server. If certificates have expired, or
// an interrupted renewal has left an incomplete kubeconfig, no API server answers before the renewal. Then
// this host continues without a turn.
func takeTurn(ctx context.Context, m kubeadm.Machine, resumed bool, say func(string, ...any)) (release func(), err error) {
	turn, err := pki.TurnOf(m.Machine, say)
	if err == nil {
		release, err = turn.Take(ctx)
		if !errors.Is(err, pki.ErrNoTurn) {
			return release, err
		}
	}
	if !resumed && !hasUnusable(m.Host, time.Now()) {
		return nil, advice.Add(err, "the certificates of this host are valid: first find out why no API server answers, crictl ps -a --name kube-apiserver; or run airgap certs renew --alone on one control-plane host at a time")
	}
	say("warning: %v; this host continues without a turn: run airgap certs renew on one control-plane host at a time", err)
	return func() {}, nil
}

// hasUnusable reports whether a certificate that airgap renews has expired, is not valid yet or cannot be
// read. No API server may answer for that reason.
func hasUnusable(h host.Host, now time.Time) bool {
	due, err := dueCertificates(h, now, 0)
	return err != nil || len(due) > 0
}

// span returns the time before expiry in which a certificate is due.
func (o RenewOptions) span() (time.Duration, error) {
	if o.All {
		return 100 * 365 * 24 * time.Hour, nil
	}
	days, isDays := strings.CutSuffix(o.Within, "d")
	if isDays {
		days += "h"
	} else {
		days = o.Within
	}
	d, err := time.ParseDuration(days)
	if isDays {
		d *= 24
	}
	if err != nil || d <= 0 {
		return 0, advice.Usagef("--within %q: want days as 90d, or hours as 12h", o.Within)
	}
	return d, nil
}

// dueCertificates returns the files with certificates that airgap renews and that expire within the time, or
// are not valid yet. The latter are not due while a CA is not valid yet either: then the clock is wrong.
func dueCertificates(h host.Host, now time.Time, within time.Duration) ([]string, error) {
	list, err := Of(h)
	early := slices.ContainsFunc(list, func(c Certificate) bool { return c.Authority && c.Span().Early(now) })
	var due []string
	for _, c := range list {
		is := c.Span().Trouble(now, within) != "" && (!early || !c.Span().Early(now))
		if is && c.Renewed == nodereport.RenewedByAirgap {
			due = append(due, c.File)
		}
	}
	return due, err
}

// renewRegistry renews the registry's certificate on hosts with a registry.
func (d *Renewed) renewRegistry(within time.Duration) error {
	pki := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	if _, err := os.Stat(pki.CertificateFile()); err != nil {
		return host.IgnoreMissing(err)
	}
	renewed, _, err := pki.RenewWithin(time.Now(), within)
	if renewed {
		d.Files = append(d.Files, pki.CertificateFile())
	}
	return err
}

func (d *Renewed) setNext(m kubeadm.Machine) (err error) {
	list, err := Of(m.Host)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(c Certificate) bool { return c.Renewed == nodereport.RenewedByAirgap }); i >= 0 {
		d.Next, d.NextEnds = list[i].File, list[i].Ends
	}
	d.KubeletRotates, err = pki.KubeletRotates(m.Machine)
	return err
}

// Write prints the renewed files and the next expiry.
func (d *Renewed) Write(w io.Writer) error {
	for _, f := range d.Files {
		fmt.Fprintf(w, "renewed %s\n", f)
	}
	if len(d.Restarted) > 0 {
		fmt.Fprintf(w, "restarted %s to use the new certificates\n", strings.Join(d.Restarted, ", "))
	}
	if !d.KubeletRotates {
		fmt.Fprintln(w, "the kubelet does not renew its client certificate: set rotateCertificates: true in its configuration, /var/lib/kubelet/config.yaml")
	}
	nothing := ""
	if len(d.Files) == 0 {
		nothing = "nothing was due; "
	}
	if d.Next == "" {
		_, err := fmt.Fprintf(w, "%sairgap renews no certificate of this host\n", nothing)
		return err
	}
	_, err := fmt.Fprintf(w, "%snext expiry: %s on %s\n", nothing, d.Next, d.NextEnds.Format(time.DateOnly))
	return err
}
