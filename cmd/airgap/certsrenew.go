package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

type certsRenewOptions struct {
	within string
	all    bool
	alone  bool
}

// certsRenewed is the result of certs renew.
type certsRenewed struct {
	kubeadm.Renewed

	NextEnds time.Time `json:"nextEnds,omitzero"` // of what airgap renews
	Next     string    `json:"next,omitempty"`    // the file that this is of
	// KubeletRotates: the kubelet renews its certificate for the API server itself.
	KubeletRotates bool `json:"kubeletRotates"`
}

func (a *app) certsRenew() *cobra.Command {
	var o certsRenewOptions
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Make the certificates of this server anew before they end",
		Long: `Makes certificates of this server anew that end within --within, with the same
names and by the same authorities, so nothing else has to be told. On a control-plane
host one that is due renews all of kubeadm's (kubeadm certs renew all): the API
server, the controller manager and the scheduler of this host are restarted, one
after the other, and each has to be ready before the next; etcd reads its files anew
by itself. The command ends when the new certificates are what the servers present.
The registry's is renewed without a restart. On every host the certificate is renewed
that the kubelet serves with, for which the kubelet is restarted: pods run on. The
one with which a kubelet asks the API server it renews itself.

When nothing is due nothing is changed. While the API server of the only
control-plane host is restarted, the cluster does not answer for some seconds; pods
run on. Control-plane hosts take turns, by the Lease ` + kubeadm.TurnLease + ` in kube-system: the command
waits for another host that restarts its own. Where no API server answers, nobody can
tell whose turn it is. The command then goes on if certificates of this host have ended,
or if it was interrupted before; else it changes nothing, unless --alone is given.

` + upkeep.RenewTimer + ` runs it every day on each host, with --within 60d.

The old files are kept until the end. The command can be interrupted at any point and
run again: it goes on where it stopped. Copies of admin.conf elsewhere stay good until
their own end; replace them by the new one.`,
		Example: "  airgap certs renew\n  airgap certs renew --within 30d\n  airgap certs renew --all",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runCertsRenew(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.within, "within", "90d", "renew what ends within this time: days as 90d, or hours as 12h")
	cmd.Flags().BoolVar(&o.alone, "alone", false, "do not wait for the turns of other control-plane hosts")
	cmd.Flags().BoolVar(&o.all, "all", false, "renew everything, however long it is good")
	return cmd
}

func (a *app) runCertsRenew(ctx context.Context, o certsRenewOptions) error {
	within, err := o.span()
	if err != nil {
		return err
	}
	if err := hostcheck.MustBeRoot("certs renew"); err != nil {
		return err
	}
	m := site.ThisMachine()
	if joined, err := m.Joined(); err != nil || !joined {
		return errors.Join(err, advice.Add(errors.New("renew certificates: airgap has not made this host a node"), "run it on a host of the cluster"))
	}
	if err := m.RefuseAmidReplacement("renew certificates"); err != nil {
		return err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return err
	}
	defer release()
	p := a.newProgress()
	done := certsRenewed{}
	due := func() ([]string, error) { return dueCertificates(m.Host, time.Now(), within) }
	renewal := kubeadm.Renewal{Machine: m, Say: p.Say}
	if !o.alone {
		renewal.Turn = func(ctx context.Context, resumed bool) (func(), error) { return takeTurn(ctx, m, resumed, p.Say) }
	}
	if done.Renewed, err = renewal.Run(ctx, due); err != nil {
		return err
	}
	if err := done.renewRegistry(within); err != nil {
		return err
	}
	if err := done.lookAhead(m); err != nil {
		return err
	}
	return a.print(done, done.write)
}

// takeTurn waits until no other control-plane host restarts its API server. Where certificates
// have ended, or an interrupted renewal left half a kubeconfig, no API server answers, and without
// new ones none will: then this host goes on.
func takeTurn(ctx context.Context, m kubeadm.Machine, resumed bool, say func(string, ...any)) (release func(), err error) {
	turn, err := m.Turn(say)
	if err == nil {
		release, err = turn.Take(ctx)
		if !errors.Is(err, kubeadm.ErrNoTurn) {
			return release, err
		}
	}
	if !resumed && !unusable(m.Host, time.Now()) {
		return nil, advice.Add(err, "the certificates of this host are good: have the API server answer first, crictl ps -a --name kube-apiserver; or airgap certs renew --alone, on one control-plane host after the other")
	}
	say("warning: %v; this host goes on without a turn: run airgap certs renew on one control-plane host after the other", err)
	return func() {}, nil
}

// unusable reports whether a certificate that airgap renews has ended, is not valid yet or cannot
// be read, which may be why no API server answers.
func unusable(h host.Host, now time.Time) bool {
	due, err := dueCertificates(h, now, 0)
	return err != nil || len(due) > 0
}

// span is how soon a certificate has to end to be due.
func (o certsRenewOptions) span() (time.Duration, error) {
	if o.all {
		return 100 * 365 * 24 * time.Hour, nil
	}
	days, isDays := strings.CutSuffix(o.within, "d")
	if isDays {
		days += "h"
	} else {
		days = o.within
	}
	d, err := time.ParseDuration(days)
	if isDays {
		d *= 24
	}
	if err != nil || d <= 0 {
		return 0, advice.Usagef("--within %q: want days as 90d, or hours as 12h", o.within)
	}
	return d, nil
}

// dueCertificates are the files with a certificate that airgap renews and that ends within the
// time, or is not valid yet. The latter would be no better for a renewal while an authority is not
// valid either: then it is the clock.
func dueCertificates(h host.Host, now time.Time, within time.Duration) ([]string, error) {
	list, err := certs.Of(h)
	early := slices.ContainsFunc(list, func(c certs.Certificate) bool { return c.Authority && c.Span().Early(now) })
	var due []string
	for _, c := range list {
		is := c.Span().Trouble(now, within) != "" && (!early || !c.Span().Early(now))
		if is && c.Renewed == nodereport.RenewedByAirgap {
			due = append(due, c.File)
		}
	}
	return due, err
}

// renewRegistry does so on hosts that serve one.
func (d *certsRenewed) renewRegistry(within time.Duration) error {
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

func (d *certsRenewed) lookAhead(m kubeadm.Machine) (err error) {
	list, err := certs.Of(m.Host)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(c certs.Certificate) bool { return c.Renewed == nodereport.RenewedByAirgap }); i >= 0 {
		d.Next, d.NextEnds = list[i].File, list[i].Ends
	}
	d.KubeletRotates, err = kubeadm.KubeletRotates(m)
	return err
}

func (d *certsRenewed) write(w io.Writer) error {
	for _, f := range d.Files {
		fmt.Fprintf(w, "renewed %s\n", f)
	}
	if len(d.Restarted) > 0 {
		fmt.Fprintf(w, "restarted %s, which use the new certificates\n", strings.Join(d.Restarted, ", "))
	}
	if !d.KubeletRotates {
		fmt.Fprintln(w, "the kubelet does not renew its certificate for the API server: set rotateCertificates: true in its configuration, /var/lib/kubelet/config.yaml")
	}
	nothing := ""
	if len(d.Files) == 0 {
		nothing = "nothing was due; "
	}
	if d.Next == "" {
		_, err := fmt.Fprintf(w, "%sno certificate of this host is renewed by airgap\n", nothing)
		return err
	}
	_, err := fmt.Fprintf(w, "%sthe next to end is %s, on %s\n", nothing, d.Next, d.NextEnds.Format(time.DateOnly))
	return err
}
