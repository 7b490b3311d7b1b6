package pki

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/exchange"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/kubeadm/kube"
)

// lead takes all hosts through the phases. The minutes are nil when nothing is under
// way.
func (p *participant) lead(ctx context.Context, m *exchange.Minutes) (Replaced, error) {
	if m == nil {
		if err := p.allowed(ctx); err != nil {
			return p.done, err
		}
	}
	fresh, key, err := successor(p.Machine, p.Authority)
	if err != nil {
		return p.done, err
	}
	if m == nil {
		if m, err = p.open(ctx, fresh); err != nil {
			return p.done, err
		}
		if m.Leader != p.node {
			return p.follow(ctx, m.Leader)
		}
	}
	if err := p.patiently(ctx, comeBack, p.grant); err != nil {
		return p.done, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	followed := p.callOthers(ctx, stop)
	err = p.leadThrough(ctx, p.succession(m, key), m)
	if err != nil {
		stop(err)
	}
	if failed := <-followed; err == nil { // waited for always: who leads again must not find them at work
		err = failed
	}
	if err != nil {
		return p.done, cause(ctx, err)
	}
	if err := p.close(ctx); err != nil {
		return p.done, err
	}
	return p.ended(p.end())
}

// callOthers has the other hosts follow. That one cannot ends all.
func (p *participant) callOthers(ctx context.Context, stop context.CancelCauseFunc) <-chan error {
	ended := make(chan error, 1)
	if p.Others == nil {
		ended <- nil
		return ended
	}
	go func() {
		err := p.Others(ctx)
		if err != nil {
			stop(err)
		}
		ended <- err
	}()
	return ended
}

// cause is why the context ended, if it did.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	return err
}

// allowed asks before anything is changed.
func (p *participant) allowed(ctx context.Context) error {
	what := "replace the authority of " + p.Authority.Name
	if _, err := os.Stat(p.Machine.Path(p.Authority.key)); err != nil {
		return &host.Failure{What: what, Err: err, Next: "airgap replaces authorities whose key is on the control-plane hosts"}
	}
	client, err := p.client()
	if err != nil {
		return err
	}
	_, unready, err := members(ctx, client, p.Authority)
	if err != nil {
		return err
	}
	if len(unready) > 0 {
		return &host.Failure{What: what, Err: fmt.Errorf("not ready: %s; a host that does not take part would be lost", strings.Join(unready, ", ")), Next: "have it come back, or take it out of the cluster: airgap remove"}
	}
	if err := errors.Join(etcdServesItsFiles(ctx, p.Machine), apiServerServesItsFile(ctx, p.Machine)); err != nil {
		return &host.Failure{What: what, Err: err, Next: "airgap certs renew first has the programs use the certificates in their files"}
	}
	return nil
}

// open begins: codes that would bring the old authority are no longer good.
func (p *participant) open(ctx context.Context, fresh []byte) (*exchange.Minutes, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	n, err := joincode.RevokeAll(ctx, client)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		p.Say("%d codes for joining are no longer good: they bring the old authority", n)
	}
	text, err := os.ReadFile(p.Machine.Path(p.Authority.file))
	if err != nil {
		return nil, err
	}
	x := exchange.Exchange{Client: client, Node: p.node, Name: replacementName}
	fields := map[string][]byte{authorityField: []byte(p.Authority.Name), oldField: text, freshField: fresh}
	if _, err := x.Open(ctx, fingerprint(fresh), fields); err != nil {
		return nil, err
	}
	m, err := x.Read(ctx)
	if err == nil && m == nil {
		err = errors.New("the replacement was ended by somebody else in the moment in which it began: run the same command again")
	}
	return m, err
}

// grant lets the hosts' kubelets read the minutes, which hold nothing that is secret
// to them. Who may goes with the Secret.
func (p *participant) grant(ctx context.Context, client kubernetes.Interface) error {
	s, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, replacementName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	owned := metav1.ObjectMeta{Name: replacementName, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: s.Name, UID: s.UID}}}
	role := &rbacv1.Role{ObjectMeta: owned, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{replacementName}, Verbs: []string{"get"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: owned,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: replacementName},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:nodes"}},
	}
	if _, err := client.RbacV1().Roles(metav1.NamespaceSystem).Create(ctx, role, kube.ByUs()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let the hosts follow: %w", err)
	}
	if _, err := client.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(ctx, binding, kube.ByUs()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let the hosts follow: %w", err)
	}
	return nil
}

// leadThrough goes through the phases that not all have been through.
func (p *participant) leadThrough(ctx context.Context, s succession, m *exchange.Minutes) error {
	phases := p.Authority.phases()
	for _, next := range phases[slices.Index(phases, exchange.Phase(m.Data[exchange.PhaseField]))+1:] {
		if err := s.reach(ctx, next); err != nil {
			return err
		}
		if err := p.note(ctx, m.To, next); err != nil {
			return err
		}
		if err := p.bring(ctx, s, m.To, next); err != nil {
			return err
		}
		if err := p.beyondHosts(ctx, s, next); err != nil {
			return err
		}
		err := p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error {
			return exchange.Exchange{Client: client, Node: p.node, Name: replacementName}.Patch(ctx, map[string][]byte{exchange.PhaseField: []byte(next)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beyondHosts is a phase's part that is no host's.
func (p *participant) beyondHosts(ctx context.Context, s succession, reached exchange.Phase) error {
	switch reached {
	case both:
		return p.trustedByAll(ctx, s)
	case only:
		return p.forgottenByAll(ctx, s)
	}
	return nil
}

// bring brings the other hosts to a phase: those with a control plane one after the
// other, for their API servers are restarted; the others together.
func (p *participant) bring(ctx context.Context, s succession, to string, next exchange.Phase) error {
	var all []member
	if err := p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) (err error) {
		all, _, err = members(ctx, client, p.Authority)
		return err
	}); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return m.name == p.node })
	var masters, workers []string
	for _, m := range all {
		if m.controlPlane {
			masters = append(masters, m.name)
		} else {
			workers = append(workers, m.name)
		}
	}
	var turns [][]string
	for _, name := range masters {
		turns = append(turns, []string{name})
	}
	if next != signing { // workers sign nothing
		turns = append(turns, workers)
	}
	for _, turn := range turns {
		if err := p.turn(ctx, s, masters, turn, to, next); err != nil {
			return err
		}
	}
	return nil
}

// turn tells some hosts to go to a phase, and waits until they say that they have.
func (p *participant) turn(ctx context.Context, s succession, masters, names []string, to string, next exchange.Phase) error {
	if len(names) == 0 {
		return nil
	}
	fields := map[string]string{}
	for _, name := range names {
		fields[phaseOf(name)] = string(next)
	}
	told := false
	err := p.patiently(ctx, exchange.GatherTime, func(ctx context.Context, client kubernetes.Interface) error {
		x := exchange.Exchange{Client: client, Node: p.node, Name: replacementName}
		if err := x.Offer(ctx, masters, fields, s.key); err != nil {
			return err
		}
		var waits []string
		for _, name := range names {
			node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) { // one that was removed is gone
				return err
			}
			if err == nil && node.Annotations[phaseNote] != noteOf(to, next) {
				waits = append(waits, name)
			}
		}
		if len(waits) == 0 {
			return nil
		}
		if !told {
			told = true
			p.Say("waits for %s to %s", strings.Join(waits, ", "), goalOf(next))
			if p.Others == nil {
				p.Say("there, on each: airgap certs rotate-ca --follow --only %s, which stays until the end", p.Authority.Name)
			}
		}
		return errors.New("not there yet: " + strings.Join(waits, ", "))
	})
	if err != nil {
		return stuck(fmt.Sprintf("of %s each has come to %s", strings.Join(names, ", "), goalOf(next)), err)
	}
	return nil
}

// goalOf returns what the hosts come to in a phase, as a verb.
func goalOf(p exchange.Phase) string {
	switch p {
	case both:
		return "trust both authorities"
	case signing:
		return "sign by the new authority"
	case issued:
		return "have certificates of the new authority"
	}
	return "trust the new authority alone"
}

// patiently asks with a client of the moment: files change, API servers restart.
func (p *participant) patiently(ctx context.Context, atMost time.Duration, ask func(context.Context, kubernetes.Interface) error) error {
	err := await.Until(ctx, atMost, func(ctx context.Context) error {
		client, err := p.client()
		if err != nil {
			return err
		}
		return ask(ctx, client)
	})
	if ctx.Err() != nil { // somebody has ended it, which says more than what it waited for
		return ctx.Err()
	}
	return err
}

// trustedByAll has those trust both authorities who are no hosts.
func (p *participant) trustedByAll(ctx context.Context, s succession) error {
	if err := p.publish(ctx, s, slices.Concat(s.old, s.fresh)); err != nil {
		return err
	}
	if !p.Authority.nodes {
		return nil
	}
	return p.startPods(ctx)
}

// forgottenByAll has those forget the old authority who are no hosts. Pods of
// airgap's own and of kubeadm's are started anew; others trust the old one until
// they are.
func (p *participant) forgottenByAll(ctx context.Context, s succession) (err error) {
	if err := p.publish(ctx, s, s.fresh); err != nil {
		return err
	}
	p.done.Trusting = []string{}
	if p.Authority.nodes {
		p.done.Trusting, err = p.startOwnPods(ctx)
	}
	return err
}

// close ends the replacement for all.
func (p *participant) close(ctx context.Context) error {
	return p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error {
		all, _, err := members(ctx, client, p.Authority)
		if err != nil {
			return err
		}
		for _, m := range all {
			if err := noteNode(ctx, client, m.name, ""); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return exchange.Exchange{Client: client, Node: p.node, Name: replacementName}.Close(ctx)
	})
}
