package support

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/cluster/gpustatus"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/status"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/verify/result"
)

// reports returns the parts with the output of other airgap commands on this host, as text and as JSON.
func (e *Evidence) reports() []Part {
	read := ask(func(ctx context.Context) (*status.Status, error) { return status.Read(ctx, e.keys, e.node), nil })
	judged := ask(e.preflight)
	verified := ask(e.verify)
	cards := ask(e.cards)
	return []Part{
		inText("status.txt", "airgap status: begin here", read, (*status.Status).Write),
		inJSON("status.json", "airgap status, for programs", read),
		inText("reports/verify.txt", "airgap verify, shortened", verified, func(r result.Report, w io.Writer) error { return r.WriteText(w) }),
		inJSON("reports/verify.json", "airgap verify, for programs", verified),
		inText("reports/preflight.txt", "airgap preflight, with the bundle in the store or the index of the join", judged, func(r preflight.Report, w io.Writer) error { return r.Text(w) }),
		inJSON("reports/preflight.json", "airgap preflight, for programs", judged),
		inText("reports/certificates.txt", "airgap certs", ask(e.certificates), func(list []certs.Certificate, w io.Writer) error { return certs.Write(w, list, time.Now()) }),
		{Name: "reports/node-report.yaml", Title: "New node report of this host", Limit: 2 * long, Room: some, Write: e.nodeReport},
		inText("reports/gpu.txt", "airgap gpu status", cards, (*gpustatus.Status).Write),
		inJSON("reports/gpu.json", "airgap gpu status, for programs", cards),
		{Name: "reports/facts.yaml", Title: "airgap survey", Limit: 2 * long, Room: 2 * plenty, Write: e.facts},
	}
}

// asked is a report that several parts use. It is created once. Only one part uses it at a time, because writing it
// as JSON changes its empty lists.
type asked[T any] struct {
	ask func(context.Context) (T, error)

	mu     sync.Mutex
	done   bool
	report T
	err    error
}

func ask[T any](ask func(context.Context) (T, error)) *asked[T] { return &asked[T]{ask: ask} }

// show calls show with the report. It also does so for a report with an error.
func (a *asked[T]) show(ctx context.Context, show func(T) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.report, a.err = a.ask(ctx)
		a.done = true
	}
	if reflect.ValueOf(&a.report).Elem().IsZero() {
		return a.err
	}
	return errors.Join(show(a.report), a.err)
}

// inText returns a part with a report as text.
func inText[T any](file, title string, report *asked[T], text func(T, io.Writer) error) Part {
	return Part{Name: file, Title: title, Limit: long, Room: some, Write: func(ctx context.Context, w io.Writer) error {
		return report.show(ctx, func(r T) error { return text(r, w) })
	}}
}

func inJSON[T any](file, title string, report *asked[T]) Part {
	return Part{Name: file, Title: title, Limit: long, Room: 2 * some, Write: func(ctx context.Context, w io.Writer) error {
		return report.show(ctx, func(r T) error { return output.JSON(w, r) })
	}}
}

// Limits of the short verification: its timeout, and the time for which the cluster must stay healthy.
const (
	aLook  = 20 * time.Second
	steady = 3 * time.Second
)

// verify runs a short verification with this host's kubeconfig.
func (e *Evidence) verify(ctx context.Context) (r result.Report, err error) {
	if !e.has(kube.AdminConf) {
		return r, NotPresent("this host has no %s: airgap verify runs on a control-plane host", kube.AdminConf)
	}
	s, err := site.Stored(e.keys, e.node)
	if err != nil {
		return r, err
	}
	return verification.ReportOf(ctx, s, verification.Options{Kubeconfig: kube.AdminConf, Timeout: aLook, Soak: steady, Keys: e.keys}, ui.Discard())
}

// preflight runs the preflight checks with the bundle in the store, or with the index of the join. It skips
// etcd-fsync, because this check writes to the disk.
func (e *Evidence) preflight(ctx context.Context) (r preflight.Report, err error) {
	k, err := status.LocalKnown(e.keys, e.node)
	defer func() { k.Close() }() // also after an error, which may be of one bundle only
	if k.Site == nil {
		if err == nil {
			err = NotPresent("this host has no bundle: run airgap preflight DIR with the directory of a bundle")
		}
		return r, err
	}
	return hostcheck.Judge(ctx, k.Site, preflight.Choice{Skip: []string{"etcd-fsync"}}, true, nil)
}

func (e *Evidence) cards(ctx context.Context) (*gpustatus.Status, error) {
	devices, err := host.PCIDevices(e.fs(), gpu.Vendor)
	if err == nil && len(devices) == 0 {
		return nil, NotPresent("the PCI bus has no NVIDIA GPU")
	}
	return gpustatus.Read(ctx, e.Machine.Host, 0)
}

func (e *Evidence) certificates(context.Context) ([]certs.Certificate, error) {
	list, err := certs.Of(e.Machine.Host)
	if err == nil && len(list) == 0 {
		return nil, NotPresent("this host has no certificates of a cluster")
	}
	return list, err
}

func (e *Evidence) facts(ctx context.Context, w io.Writer) error {
	taken, err := facts.Survey(ctx, e.Machine.Host)
	if err != nil {
		return err
	}
	return taken.Write(w)
}

// nodeReport creates a node report. The limit of each of its parts is at most the limit of this part.
func (e *Evidence) nodeReport(ctx context.Context, w io.Writer) error {
	settings, err := host.ReadJSON[report.Settings](site.ReportFile)
	if err != nil {
		return err
	}
	if settings.Node == "" {
		return NotPresent("this host does not report yet: %s does not exist", site.ReportFile)
	}
	c, err := settings.Collector(e.Machine)
	if err != nil {
		return err
	}
	for i := range c.Parts {
		c.Parts[i].Limit = min(c.Parts[i].Limit, long)
	}
	report := c.Once(ctx)
	report.Heartbeat = metav1.NowMicro()
	return output.YAML(w, report)
}

// has reports whether the host has a file.
func (e *Evidence) has(file string) bool {
	_, err := fs.Stat(e.fs(), file[1:])
	return err == nil
}
