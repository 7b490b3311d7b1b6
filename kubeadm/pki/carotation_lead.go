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
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/phases"
)

// lead moves all hosts through the phases. m is nil if no rotation is in progress.
func (p *rotationMember) lead(ctx context.Context, m *phases.State) (CARotated, error) {
	if m == nil {
		if err := p.allowed(ctx); err != nil {
			return p.done, err
		}
	}
	fresh, key, err := nextCA(p.Machine, p.Authority)
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
	if err := p.patiently(ctx, readyTime, p.grant); err != nil {
		return p.done, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	followed := p.callOthers(ctx, stop)
	err = p.leadThrough(ctx, p.hostRotation(m, key), m)
	if err != nil {
		stop(err)
	}
	if failed := <-followed; err == nil { // always wait: the hosts must not still run when the next run starts
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

// callOthers makes the other hosts follow. The failure of one host stops the rotation.
func (p *rotationMember) callOthers(ctx context.Context, stop context.CancelCauseFunc) <-chan error {
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

// cause returns the reason why the context ended, or err.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) {
		return why
	}
	return err
}

// allowed checks the conditions of a rotation before anything changes.
func (p *rotationMember) allowed(ctx context.Context) error {
	what := "rotate the CA of " + p.Authority.Name
	if _, err := os.Stat(p.Machine.Path(p.Authority.key)); err != nil {
		return &host.Failure{What: what, Err: err, Next: "rotate this CA without airgap: airgap rotates only a CA that has its key on the control-plane hosts"}
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
		return &host.Failure{What: what, Err: fmt.Errorf("not ready: %s; a host that does not take part loses its connection to the cluster", strings.Join(unready, ", ")), Next: "repair the host, or remove it from the cluster with airgap remove"}
	}
	if err := errors.Join(etcdServesItsFiles(ctx, p.Machine), apiServerServesItsFile(ctx, p.Machine)); err != nil {
		return &host.Failure{What: what, Err: err, Next: "run airgap certs renew first: it makes the programs use the certificates in their files"}
	}
	return nil
}

// open starts the rotation. It revokes the join tokens, because they contain the old CA.
func (p *rotationMember) open(ctx context.Context, fresh []byte) (*phases.State, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	n, err := jointoken.RevokeAll(ctx, client)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		p.Say("revoked %d join tokens: they contain the old CA", n)
	}
	text, err := os.ReadFile(p.Machine.Path(p.Authority.file))
	if err != nil {
		return nil, err
	}
	x := phases.Coordinator{Client: client, Node: p.node, Name: replacementName}
	fields := map[string][]byte{authorityField: []byte(p.Authority.Name), oldField: text, freshField: fresh}
	if _, err := x.Open(ctx, fingerprint(fresh), fields); err != nil {
		return nil, err
	}
	m, err := x.Read(ctx)
	if err == nil && m == nil {
		err = errors.New("another process ended the rotation at its start: run the same command again")
	}
	return m, err
}

// grant lets the kubelets read the rotation state, which has no secret for them. The Secret owns
// the Role and the RoleBinding, so Kubernetes deletes them together.
func (p *rotationMember) grant(ctx context.Context, client kubernetes.Interface) error {
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
	if _, err := client.RbacV1().Roles(metav1.NamespaceSystem).Create(ctx, role, kube.CreateOptions()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let the hosts read the rotation state: %w", err)
	}
	if _, err := client.RbacV1().RoleBindings(metav1.NamespaceSystem).Create(ctx, binding, kube.CreateOptions()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let the hosts read the rotation state: %w", err)
	}
	return nil
}

// leadThrough runs the phases that not all hosts have completed.
func (p *rotationMember) leadThrough(ctx context.Context, s hostRotation, m *phases.State) error {
	order := p.Authority.phases()
	for _, next := range order[slices.Index(order, phases.Phase(m.Data[phases.PhaseField]))+1:] {
		if err := s.reach(ctx, next); err != nil {
			return err
		}
		if err := p.note(ctx, m.To, next); err != nil {
			return err
		}
		if err := p.moveAll(ctx, s, m.To, next); err != nil {
			return err
		}
		if err := p.inCluster(ctx, s, next); err != nil {
			return err
		}
		err := p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
			return phases.Coordinator{Client: client, Node: p.node, Name: replacementName}.Patch(ctx, map[string][]byte{phases.PhaseField: []byte(next)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inCluster runs the part of a phase that concerns the cluster and not a host.
func (p *rotationMember) inCluster(ctx context.Context, s hostRotation, reached phases.Phase) error {
	switch reached {
	case both:
		return p.publishBoth(ctx, s)
	case only:
		return p.publishNew(ctx, s)
	}
	return nil
}

// moveAll moves the other hosts to a phase: control-plane hosts one at a time, because their API
// servers restart; workers in parallel.
func (p *rotationMember) moveAll(ctx context.Context, s hostRotation, to string, next phases.Phase) error {
	var all []member
	if err := p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) (err error) {
		all, _, err = members(ctx, client, p.Authority)
		return err
	}); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return m.name == p.node })
	var controlPlanes, workers []string
	for _, m := range all {
		if m.controlPlane {
			controlPlanes = append(controlPlanes, m.name)
		} else {
			workers = append(workers, m.name)
		}
	}
	var turns [][]string
	for _, name := range controlPlanes {
		turns = append(turns, []string{name})
	}
	if next != signing { // workers sign nothing
		turns = append(turns, workers)
	}
	for _, turn := range turns {
		if err := p.turn(ctx, s, controlPlanes, turn, to, next); err != nil {
			return err
		}
	}
	return nil
}

// turn requests a phase from some hosts, and waits until their Nodes report it.
func (p *rotationMember) turn(ctx context.Context, s hostRotation, controlPlanes, names []string, to string, next phases.Phase) error {
	if len(names) == 0 {
		return nil
	}
	fields := map[string]string{}
	for _, name := range names {
		fields[phaseOf(name)] = string(next)
	}
	reported := false
	err := p.patiently(ctx, phases.GatherTime, func(ctx context.Context, client kubernetes.Interface) error {
		x := phases.Coordinator{Client: client, Node: p.node, Name: replacementName}
		if err := x.Offer(ctx, controlPlanes, fields, s.key); err != nil {
			return err
		}
		var waits []string
		for _, name := range names {
			node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) { // a removed node no longer takes part
				return err
			}
			if err == nil && node.Annotations[phaseNote] != noteOf(to, next) {
				waits = append(waits, name)
			}
		}
		if len(waits) == 0 {
			return nil
		}
		if !reported {
			reported = true
			p.Say("wait for %s to %s", hostrange.Join(waits), goalOf(next))
			if p.Others == nil {
				p.Say("run on each of them: airgap certs rotate-ca --follow --only %s; it runs until the end of the rotation", p.Authority.Name)
			}
		}
		return errors.New("waiting for " + hostrange.Join(waits))
	})
	if err != nil {
		return stuck(fmt.Sprintf("%s: %s", hostrange.Join(names), goalOf(next)), err)
	}
	return nil
}

// goalOf describes the result of a phase, as a verb and its object.
func goalOf(p phases.Phase) string {
	switch p {
	case both:
		return "trust both CAs"
	case signing:
		return "sign with the new CA"
	case issued:
		return "have certificates of the new CA"
	}
	return "trust only the new CA"
}

// patiently repeats ask, with a new client each time: the kubeconfigs change and the API servers
// restart.
func (p *rotationMember) patiently(ctx context.Context, atMost time.Duration, ask func(context.Context, kubernetes.Interface) error) error {
	err := await.Until(ctx, atMost, func(ctx context.Context) error {
		client, err := p.client()
		if err != nil {
			return err
		}
		return ask(ctx, client)
	})
	if ctx.Err() != nil { // the cancellation is more useful than the last error
		return ctx.Err()
	}
	return err
}

// publishBoth publishes both CAs in the cluster and waits until pods trust them.
func (p *rotationMember) publishBoth(ctx context.Context, s hostRotation) error {
	if err := p.publish(ctx, s, slices.Concat(s.old, s.fresh)); err != nil {
		return err
	}
	if !p.Authority.nodes {
		return nil
	}
	return p.restartPods(ctx)
}

// publishNew publishes only the new CA and restarts the pods of airgap and kubeadm. Other pods
// trust the old CA until their next restart.
func (p *rotationMember) publishNew(ctx context.Context, s hostRotation) (err error) {
	if err := p.publish(ctx, s, s.fresh); err != nil {
		return err
	}
	p.done.Trusting = []string{}
	if p.Authority.nodes {
		p.done.Trusting, err = p.restartOwnPods(ctx)
	}
	return err
}

// close ends the rotation for all hosts.
func (p *rotationMember) close(ctx context.Context) error {
	return p.patiently(ctx, readyTime, func(ctx context.Context, client kubernetes.Interface) error {
		all, _, err := members(ctx, client, p.Authority)
		if err != nil {
			return err
		}
		for _, m := range all {
			if err := noteNode(ctx, client, m.name, ""); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return phases.Coordinator{Client: client, Node: p.node, Name: replacementName}.Close(ctx)
	})
}
