package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Replacement puts a new authority in the place of one, on the only
// control-plane host of a cluster. Its phases are in the order in which no
// program ever meets a certificate that it does not trust:
//
//  1. the new authority is made, and everybody who trusts the old one is started
//     anew, trusting both;
//  2. the new one's key takes the old one's place, and every certificate is made
//     anew by it;
//  3. the old one goes, and everybody is started anew, trusting the new one.
//
// What is done is read from the files and from when the programs were started,
// so that a replacement which was interrupted anywhere goes on when it is run
// again.
type Replacement struct {
	Machine   Machine
	Authority Authority
	Cluster   Cluster
	Say       func(format string, args ...any)
}

// Replaced is what a replacement did.
type Replaced struct {
	Authority string   `json:"authority"`
	Files     []string `json:"files"`   // with certificates of the new authority
	Resumed   bool     `json:"resumed"` // it had been interrupted
}

// Run runs the replacement to its end. It is refused, and nothing is changed,
// where there are several control-plane hosts.
func (r Replacement) Run(ctx context.Context) (Replaced, error) {
	waiting := func() { r.Say("waits for kubeadm, which an interrupted run left at work") }
	if err := r.Machine.Await(ctx, waiting); err != nil {
		return Replaced{}, err
	}
	done := Replaced{Authority: r.Authority.Name, Files: r.Authority.leaves, Resumed: r.Machine.recorded(r.Authority.nextFile())}
	if err := r.allowed(ctx, done.Resumed); err != nil {
		return done, err
	}
	fresh, key, err := r.Machine.successor(r.Authority)
	if err != nil {
		return done, err
	}
	if err := r.both(ctx, fresh, key); err != nil {
		return done, err
	}
	if err := r.sign(ctx, fresh); err != nil {
		return done, err
	}
	r.Say("the old authority goes")
	if err := r.trust(ctx, fresh); err != nil {
		return done, err
	}
	if err := r.settle(ctx); err != nil {
		return done, err
	}
	return done, r.Machine.forget(r.Authority)
}

// settle waits for those who lost the API server while it was restarted, and
// ended for that.
func (r Replacement) settle(ctx context.Context) error {
	node, err := r.Machine.nodeName()
	if err != nil {
		return err
	}
	for _, part := range []Part{ControllerManager, Scheduler} {
		err := await(ctx, comeBack, func(ctx context.Context) error { return r.Machine.staticPodReady(ctx, part, node, time.Time{}) })
		if err != nil {
			return stuck(string(part)+" is back", err)
		}
	}
	return nil
}

// allowed asks the cluster before anything is changed. A replacement that was
// begun goes on: while the only API server is down nobody joins.
func (r Replacement) allowed(ctx context.Context, resumed bool) error {
	if _, err := os.Stat(r.Machine.path(r.Authority.key)); err != nil {
		return &Failure{What: "replace the authority of " + r.Authority.Name, Err: err, Next: "airgap replaces authorities whose key is on the control-plane host"}
	}
	if resumed {
		r.Say("the replacement that was interrupted goes on")
		return nil
	}
	hosts, err := r.Cluster.Hosts(ctx)
	if err != nil {
		return err
	}
	if len(hosts) != 1 {
		return &Failure{What: "replace the authority of " + r.Authority.Name, Err: fmt.Errorf("the control plane is on %s, and airgap replaces authorities on one host alone", strings.Join(hosts, ", ")), Next: "https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/"}
	}
	if err := errors.Join(r.Machine.etcdServesItsFiles(ctx), r.Machine.apiServerServesItsFile(ctx)); err != nil {
		return &Failure{What: "replace the authority of " + r.Authority.Name, Err: err, Next: "airgap certs renew first has the programs use the certificates in their files"}
	}
	n, err := r.Cluster.Revoke(ctx)
	if n > 0 {
		r.Say("%d codes for further control-plane hosts are no longer good: they bring the old authority", n)
	}
	return err
}

// both has everybody trust the old and the new authority, and then the new one
// sign. kubeadm signs by the first certificate of the file.
func (r Replacement) both(ctx context.Context, fresh, key []byte) error {
	m, a := r.Machine, r.Authority
	now, err := os.ReadFile(m.path(a.file))
	if err != nil {
		return err
	}
	signing, err := os.ReadFile(m.path(a.key))
	if err != nil {
		return err
	}
	old := bytes.Replace(now, fresh, nil, 1)
	if !bytes.Equal(signing, key) {
		r.Say("both authorities are trusted")
		if err := r.trust(ctx, append(bytes.Clone(old), fresh...)); err != nil {
			return err
		}
		if err := host.WriteFile(m.path(a.key), key, 0o600); err != nil {
			return err
		}
	}
	return m.writeAuthority(a, append(bytes.Clone(fresh), old...))
}

// sign has every certificate made anew that the new authority has not signed.
func (r Replacement) sign(ctx context.Context, fresh []byte) error {
	left := func() ([]string, error) { return r.Machine.unsigned(r.Authority.leaves, fresh) }
	renewal := Renewal{Machine: r.Machine, Say: r.Say}
	done, err := renewal.Run(ctx, left)
	if err == nil && done.Resumed { // it may have been begun for something else
		_, err = renewal.Run(ctx, left)
	}
	if err != nil {
		return err
	}
	others, err := left()
	if err == nil && len(others) > 0 {
		err = &Failure{What: "replace the authority of " + r.Authority.Name, Err: errors.New("still signed by the old one: " + strings.Join(others, ", ")), Next: "run the same command again; the old authority is trusted until then"}
	}
	return err
}

// forget removes the copies; that they are gone is the end of the replacement.
func (m Machine) forget(a Authority) error {
	if err := errors.Join(host.Remove(m.path(a.nextFile())), host.Remove(m.path(a.nextKey()))); err != nil {
		return err
	}
	_ = os.Remove(m.path(nextDir)) // of another replacement there is more in it
	return nil
}
