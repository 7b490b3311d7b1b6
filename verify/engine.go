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

	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

const (
	retryAfter   = time.Second // after the API server was lost
	publishEvery = time.Second
	seenEvery    = time.Minute
)

// apiServer is a rule that the engine evaluates itself, like result.SoakRule.
const apiServer = "api-server"

// engine evaluates rules until all were ok for the soak window.
type engine struct {
	options Options
	api     *api
	rules   []rule
	images  *imagecache.Cache
	probes  []*probed
	dirty   *dirty
	board   *board
	changes *changes
	noted   *confirmations
	logged  *logged
	live    *live
	began   time.Time
	pacing  pacing
	view    view // of the newest session with complete lists
	judged  map[string]time.Time
	server  string // version of the API server
	site    site
	seen    bool             // a view existed
	lost    time.Time        // when the API server was lost; zero while a session judges
	shown   time.Time        // last call of Seen
	shownAs []result.Outcome // of the rules at that call
}

func newEngine(o Options, a *api) *engine {
	e := &engine{
		options: o, api: a, dirty: newDirty(), board: newBoard(), judged: map[string]time.Time{}, changes: newChanges(),
		noted: &confirmations{}, logged: &logged{}, began: time.Now(), site: o.site(),
	}
	e.images = imagecache.New(o.ImageExists, func() { e.dirty.mark(imagesID) })
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

// choose creates the rules from the known facts about the cluster.
func (e *engine) choose() { e.rules = e.options.chosen(rules(e.options, e.images, e.probes)) }

// run reports whether all rules were ok for the soak window before ctx ended. If the connection
// to the API server is lost, it starts a new session with new lists.
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
			e.publish()
			return true
		}
		if ctx.Err() != nil {
			break
		}
		e.recordLoss(lost)
		e.reconnect()
		sleep(ctx, retryAfter)
	}
	return false
}

// recordLoss records that the API server does not answer.
func (e *engine) recordLoss(reason error) {
	e.board.doubt()
	e.view.now = time.Now()
	if e.lost.IsZero() {
		e.lost = e.view.now
	}
	for _, r := range e.rules {
		row := e.board.rows[r.id]
		row.stale = cmp.Or(e.unknown(r), row.stale) // until it is evaluated again
	}
	e.record(apiServer, []Finding{{
		Object: "API server", Saw: reason.Error(), Want: "it answers list and watch requests",
		Fix: silenceFix(reason),
	}})
	e.publish()
}

// unknown returns why the last result of a rule is outdated while the API server is lost. A
// session that ends at once confirms nothing.
func (e *engine) unknown(r rule) string {
	why := e.view.stale(r)
	if why == "" && e.view.now.Sub(e.lost) > e.options.bounds.down {
		why = "the connection to the API server was lost at " + e.lost.UTC().Format(time.RFC3339)
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
	e.recordLoss(fmt.Errorf("read the address and credentials of the API server: %w", err))
}

// silenceFix handles expired certificates. The client reports an expired server certificate; the
// server answers Unauthorized for an expired client certificate.
func silenceFix(reason error) string {
	text := reason.Error()
	if strings.Contains(text, "certificate has expired") || apierrors.IsUnauthorized(reason) {
		return "on each control-plane host: airgap certs shows expired certificates, and airgap certs renew renews them; if none has expired, compare the clocks: chronyc tracking"
	}
	return "on a control-plane node: journalctl -u kubelet; for kube-apiserver and etcd: crictl ps -a; crictl logs CONTAINER"
}

// judge evaluates the given rules, reports the changes, and returns the pause until the next
// round.
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
	e.publish()
	return e.pacing.pause(began, time.Now())
}

// judgeRule keeps the last findings of a rule if a kind that it reads is not confirmed: their
// current state is not known.
func (e *engine) judgeRule(r rule) {
	row := e.board.rows[r.id]
	row.doubtful = r.doubtful(e.view)
	row.stale = ""
	if doubts := e.view.doubtsOf(r); len(doubts) > 0 { // read once: a kind may be confirmed at any moment
		row.stale, row.fix = doubts[0].String(), doubts[0].fix()
		e.board.settle(e.view.now)
		return
	}
	findings := slices.Clone(r.judge(e.view)) // a probe keeps its slice
	unreadable := e.view.unreadable(r.kinds())
	findings = slices.DeleteFunc(findings, func(f Finding) bool {
		return slices.ContainsFunc(unreadable, func(d *doubt) bool { return d.object == f.Object })
	})
	expected := e.expected(r)
	if missing := append(unreadable, r.hidden(e.view)...); len(missing) > 0 {
		expected = expectation{missing: missing[0].String(), fix: missing[0].fix()}
	}
	if b := e.options.Baseline; b != nil {
		markKnown(b, e.view, r.id, findings)
		e.attribute(r.id, findings)
		expected = ignoreKnown(b, r.id, expected)
	}
	markLeftOut(append(away(e.view), e.options.LeftOut...), e.view, findings)
	row.unseen, row.nothing, row.fix = expected.missing, expected.nothing, expected.fix
	e.record(r.id, findings)
}

// expected returns why a rule cannot be ok, even without findings: a namespace or an object that
// it expects does not exist.
func (e *engine) expected(r rule) expectation {
	if unknown := e.view.unknownNamespace(); unknown.missing != "" || r.expects == nil {
		return unknown
	}
	return r.expects(e.view)
}

func (e *engine) record(rule string, findings []Finding) {
	e.board.record(rule, findings, time.Now())
	e.changes.note(rule, e.board.rows[rule].reportable(rule))
}

// publish shows the current state: in place on a terminal, otherwise the changes as lines. A run
// that watches gets events instead of lines.
func (e *engine) publish() {
	if !e.live.show(e) && e.options.Watch == nil {
		e.board.publish(e.options.Progress.Say)
	}
	e.watched()
}

// watched sends the changes to the callbacks of a run that watches.
func (e *engine) watched() {
	if e.options.Watch == nil {
		return
	}
	now := time.Now()
	events := e.changes.events(now, e.board.healthy())
	for _, event := range events {
		e.options.Watch(event)
	}
	outcomes := e.board.outcomes()
	if e.options.Seen != nil && (len(events) > 0 || !slices.Equal(outcomes, e.shownAs) || now.Sub(e.shown) >= seenEvery) {
		e.shown, e.shownAs = now, outcomes
		e.options.Seen(e.report(e.board.healthy(), e.began))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
