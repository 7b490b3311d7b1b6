package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"airgap.dev/airgap/verify/imagebook"
	"airgap.dev/airgap/verify/result"
)

const (
	shortestPause = 5 * time.Millisecond // between two rounds of judging
	longestPause  = 500 * time.Millisecond
	retryAfter    = time.Second // after the API server was lost
	tellEvery     = time.Second
	seenEvery     = time.Minute
)

// apiServer is a rule that the engine itself judges, as result.Soaking is.
const apiServer = "api-server"

// engine judges rules until they all held for the soak window.
type engine struct {
	options Options
	api     *api
	rules   []rule
	images  *imagebook.Book
	probes  []*probed
	dirty   *dirty
	board   *board
	changes *changes
	noted   *confirmations
	logged  *logged
	live    *live
	began   time.Time
	view    view // of the newest session that began to judge
	judged  map[string]time.Time
	server  string // version of the API server
	site    site
	seen    bool             // there was one
	lost    time.Time        // when the API server was lost; zero while a session judges
	shown   time.Time        // when Seen was last called
	shownAs []result.Outcome // of the rules then
}

func newEngine(o Options, a *api) *engine {
	e := &engine{
		options: o, api: a, dirty: newDirty(), board: newBoard(), judged: map[string]time.Time{}, changes: newChanges(),
		noted: &confirmations{}, logged: &logged{}, began: time.Now(), site: o.site(),
	}
	e.images = imagebook.New(o.ImageExists, func() { e.dirty.mark("images") })
	for _, p := range o.Probes {
		e.probes = append(e.probes, newProbed(p))
	}
	e.board.add(apiServer, "The API server answers")
	e.choose()
	for _, r := range e.rules {
		row := e.board.add(r.id, r.title)
		row.stays, row.asked = r.stays, o.asksFor(r.id)
	}
	return e
}

// choose makes the rules for what is known of the cluster.
func (e *engine) choose() { e.rules = e.options.chosen(rules(e.options, e.images, e.probes)) }

// run reports whether everything held through the soak window before ctx
// ended. Whenever the API server is lost it starts over with a new session,
// whose informers list everything again.
func (e *engine) run(ctx context.Context) bool {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, logr.New(e.logged)))
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	e.live = newLive(e.options)
	defer e.live.end()
	background.Go(func() { e.images.Run(ctx) })
	for _, p := range e.probes {
		background.Go(func() { p.run(ctx, func() { e.dirty.mark(p.ID) }) })
	}
	for ctx.Err() == nil {
		lost := e.session(ctx)
		if lost == nil {
			e.tell()
			return true
		}
		if ctx.Err() != nil {
			break
		}
		e.lose(lost)
		e.reconnect()
		sleep(ctx, retryAfter)
	}
	return false
}

// lose records that the API server does not answer.
func (e *engine) lose(reason error) {
	e.board.doubt()
	e.view.now = time.Now()
	if e.lost.IsZero() {
		e.lost = e.view.now
	}
	for _, r := range e.rules {
		row := e.board.rows[r.id]
		row.stale = cmp.Or(e.unknown(r), row.stale) // until it is judged again
	}
	e.record(apiServer, []Finding{{
		Object: "API server", Saw: reason.Error(), Want: "it answers lists and watches",
		Fix: silenceFix(reason),
	}})
	e.tell()
}

// unknown says why a rule's last judgement says nothing of now, while the API server is
// lost. A session that is lost as soon as it begins confirms nothing.
func (e *engine) unknown(r rule) string {
	why := e.view.stale(r)
	if why == "" && e.view.now.Sub(e.lost) > e.options.bounds.down {
		why = "the API server was lost at " + e.lost.UTC().Format(time.RFC3339)
	}
	return why
}

// reconnect dials again, with credentials that may have been renewed.
func (e *engine) reconnect() {
	e.api.hangUp()
	if e.options.Connect == nil {
		return
	}
	config, err := e.options.Connect()
	if err == nil {
		var next *api
		if next, err = newAPI(config); err == nil {
			e.api = next
			return
		}
	}
	e.lose(fmt.Errorf("read how to reach the API server: %w", err))
}

// silenceFix knows certificates that have ended. The client reports the server's; the server
// answers Unauthorized where the client's has ended.
func silenceFix(reason error) string {
	text := reason.Error()
	if strings.Contains(text, "certificate has expired") || apierrors.IsUnauthorized(reason) {
		return "on each control-plane host: airgap certs lists what has ended, and airgap certs renew renews it; where nothing has, compare the clocks: chronyc tracking"
	}
	return "on a control-plane node: journalctl -u kubelet; crictl logs of kube-apiserver and etcd"
}

// judge judges the given rules, tells what changed by it, and says for how long
// to leave them alone: a round of judging takes a tenth of a processor, and more
// only where half a second passes until the next one.
func (e *engine) judge(which map[string]bool) time.Duration {
	began := time.Now()
	e.view.now = began
	for _, r := range e.rules {
		if which[r.id] && e.board.applies(r.id) {
			e.judgeRule(r)
			e.judged[r.id] = began
		}
	}
	e.record(apiServer, e.doubted())
	e.tell()
	return min(max(10*time.Since(began), shortestPause), longestPause)
}

// judgeRule leaves what was found before where a kind that the rule reads is not confirmed:
// neither is known to be so now, nor to be mended.
func (e *engine) judgeRule(r rule) {
	row := e.board.rows[r.id]
	row.doubtful = r.doubtful(e.view)
	row.stale = ""
	if doubts := e.view.doubtsOf(r); len(doubts) > 0 { // asked once: a kind may be confirmed at any moment
		row.stale, row.fix = doubts[0].String(), doubts[0].fix()
		e.board.settle(e.view.now)
		return
	}
	findings := slices.Clone(r.judge(e.view)) // a probe's are its own
	unreadable := e.view.unreadable(r.kinds())
	findings = slices.DeleteFunc(findings, func(f Finding) bool {
		return slices.ContainsFunc(unreadable, func(d *doubt) bool { return d.object == f.Object })
	})
	expected := e.expected(r)
	if lacking := append(unreadable, r.hidden(e.view)...); len(lacking) > 0 {
		expected = expectation{missing: lacking[0].String(), fix: lacking[0].fix()}
	}
	if b := e.options.Baseline; b != nil {
		know(b, e.view, r.id, findings)
		expected = forgive(b, r.id, expected)
	}
	row.unseen, row.nothing, row.fix = expected.missing, expected.nothing, expected.fix
	e.record(r.id, findings)
}

// expected says why a rule cannot hold, whatever it found: a namespace is not there, or
// objects that it judges are not.
func (e *engine) expected(r rule) expectation {
	if unknown := e.view.unknownNamespace(); unknown.missing != "" || r.expects == nil {
		return unknown
	}
	return r.expects(e.view)
}

func (e *engine) record(rule string, findings []Finding) {
	e.board.record(rule, findings, time.Now())
	e.changes.note(rule, e.board.rows[rule].toTell(rule))
}

// tell shows where things stand: drawn in place, else as lines of what changed;
// whoever watches gets the changes instead of lines.
func (e *engine) tell() {
	if !e.live.show(e) && e.options.Watch == nil {
		e.board.tell(e.options.Progress.Say)
	}
	e.watched()
}

// watched tells whoever watches what changed.
func (e *engine) watched() {
	if e.options.Watch == nil {
		return
	}
	now := time.Now()
	events := e.changes.events(now, e.board.well())
	for _, event := range events {
		e.options.Watch(event)
	}
	outcomes := e.board.outcomes()
	if e.options.Seen != nil && (len(events) > 0 || !slices.Equal(outcomes, e.shownAs) || now.Sub(e.shown) >= seenEvery) {
		e.shown, e.shownAs = now, outcomes
		e.options.Seen(e.report(e.board.well(), e.began))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
