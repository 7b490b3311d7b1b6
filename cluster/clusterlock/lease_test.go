package clusterlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/verify/apitest"
)

// api is an API server that several hosts use. While it is down, requests fail.
type api struct {
	*fake.Clientset
	down atomic.Bool
}

func newAPI(leases ...runtime.Object) *api {
	a := &api{Clientset: fake.NewClientset(leases...)}
	a.PrependReactor("*", "leases", func(ktesting.Action) (bool, runtime.Object, error) {
		return a.down.Load(), nil, errors.New("connection refused")
	})
	return a
}

func leaseOf(h Holder) *coordinationv1.Lease {
	who, since, renewed := h.String(), metav1.NewMicroTime(h.Since), metav1.NewMicroTime(h.Renewed)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: Name, Namespace: namespace},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who, AcquireTime: &since, RenewTime: &renewed},
	}
}

// says collects the sentences of a command.
type says []string

func (s *says) say(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

func keeperOf(client kubernetes.Interface, user, host, command string) *keeper {
	return &keeper{holder: Holder{User: user, Host: host, Command: command}, client: func() kubernetes.Interface { return client }}
}

// run runs a command as During does.
func run(ctx context.Context, k *keeper, follows bool, say func(string, ...any), do func(context.Context) error) error {
	return k.during(ctx, Command{Name: k.holder.Command, Follows: follows, Say: say}, do)
}

func nothing(context.Context) error { return nil }

var (
	long  = time.Date(2026, 11, 29, 14, 2, 11, 0, time.Local) // a clock that differs from that of the other host
	other = Holder{User: "kim@bank.example", Host: "cp1", Command: "airgap upgrade", Since: long, Renewed: long}
)

// TestHeldWhileTheCommandRuns: the Lease shows who, which command and since when, is renewed, and is gone afterwards.
func TestHeldWhileTheCommandRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		began := time.Now()
		err := run(t.Context(), keeperOf(a, "lee", "cp2", "airgap remove"), false, t.Logf, func(ctx context.Context) error {
			time.Sleep(25 * time.Minute)
			h, err := Read(ctx, a)
			require.NoError(t, err)
			assert.Equal(t, "lee@cp2, airgap remove", h.String())
			assert.WithinDuration(t, began, h.Since, time.Second)
			assert.WithinDuration(t, time.Now(), h.Renewed, renewal+time.Second)
			return nil
		})
		require.NoError(t, err)
		h, err := Read(t.Context(), a)
		require.NoError(t, err)
		assert.Nil(t, h)
	})
}

// TestSecondOperator: a command of another host that renews its Lease is named, with its user, its time and the next
// step. Its old renewTime does not count, because clocks differ.
func TestSecondOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(leaseOf(other))
		renew := time.AfterFunc(7*time.Second, func() {
			again := other
			again.Renewed = long.Add(10 * time.Second)
			_, err := a.CoordinationV1().Leases(namespace).Update(context.Background(), leaseOf(again), metav1.UpdateOptions{})
			assert.NoError(t, err)
		})
		defer renew.Stop()
		var said says
		began, ran := time.Now(), false
		err := run(t.Context(), keeperOf(a, "lee", "cp2", "airgap remove"), false, said.say, func(context.Context) error { ran = true; return nil })
		assert.False(t, ran)
		require.EqualError(t, err, "airgap remove: kim@bank.example@cp1 runs airgap upgrade since 2026-11-29 14:02:11, and renews its Lease kube-system/airgap")
		assert.Contains(t, advice.Of(err), "ask kim@bank.example, or wait")
		assert.Equal(t, renewal, time.Since(began))
		assert.Len(t, said, 1)
	})
}

// TestDeadHolderIsReplaced: a Lease without a renewal for its duration is taken over, and the user learns it. The time
// in which the API server did not answer does not count.
func TestDeadHolderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(leaseOf(other))
		var said says
		began := time.Now()
		require.NoError(t, run(t.Context(), keeperOf(a, "lee", "cp2", "airgap upgrade"), false, said.say, nothing))
		assert.Equal(t, lasts, time.Since(began))
		assert.Contains(t, said[len(said)-1], "kim@bank.example@cp1 runs airgap upgrade since 2026-11-29 14:02:11, and has not renewed its Lease for 2m0s: this command takes it over")

		var o observation
		for _, at := range []time.Duration{0, 10 * time.Second, 20 * time.Second} {
			o.see(other, began.Add(at))
		}
		o.at = time.Time{} // no answer for an hour
		o.see(other, began.Add(time.Hour))
		assert.Equal(t, 20*time.Second, o.still)
	})
}

// TestRunThatContinues: after a crash, a command on the same host takes the Lease at once. The host's lock excludes a
// living one.
func TestRunThatContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, began := newAPI(leaseOf(other)), time.Now()
		require.NoError(t, run(t.Context(), keeperOf(a, "lee", "cp1", "airgap rollback"), false, t.Logf, nothing))
		assert.Zero(t, time.Since(began))
	})
}

// TestWithoutAPI: a command on a host without an API server goes on at once, and takes the Lease when it answers. A
// restored cluster contains the Lease of a command from before the backup: that one ends nothing.
func TestWithoutAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(leaseOf(other))
		a.down.Store(true)
		var said says
		began := time.Now()
		err := run(t.Context(), keeperOf(a, "lee", "cp2", "airgap restore"), false, said.say, func(ctx context.Context) error {
			assert.Zero(t, time.Since(began))
			time.Sleep(10 * time.Minute)
			a.down.Store(false)
			time.Sleep(lasts + 3*renewal)
			h, err := Read(ctx, a)
			require.NoError(t, err)
			assert.Equal(t, "lee@cp2, airgap restore", h.String())
			return ctx.Err()
		})
		require.NoError(t, err)
		assert.Contains(t, said[0], "the API server does not answer")
	})
}

// TestLost: a host that was cut off, and whose Lease another command took, stops its command and says why.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		thief := make(chan error)
		err := run(t.Context(), keeperOf(a, "lee", "cp2", "airgap remove"), false, t.Logf, func(ctx context.Context) error {
			require.NoError(t, a.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), leaseOf(other), namespace))
			second := keeperOf(a, "kim", "cp1", "airgap upgrade")
			go func() {
				thief <- run(context.Background(), second, false, t.Logf, func(context.Context) error { time.Sleep(time.Hour); return nil })
			}()
			<-ctx.Done()
			return ctx.Err()
		})
		assert.ErrorContains(t, err, "airgap remove was stopped, because another command took over: kim@cp1 runs airgap upgrade since ")
		require.NoError(t, <-thief)
	})
}

// TestFollower: a command that follows another host's same command needs no Lease.
func TestFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for command, follows := range map[string]bool{"airgap encryption rotate": true, "airgap upgrade": false} {
			a := newAPI()
			leader := keeperOf(a, "kim", "cp1", command)
			err := run(t.Context(), leader, false, t.Logf, func(ctx context.Context) error {
				return run(ctx, keeperOf(a, "lee", "cp2", "airgap encryption rotate"), true, t.Logf, nothing)
			})
			assert.Equal(t, follows, err == nil, "%v", err)
		}
	})
}

func TestHolderOf(t *testing.T) {
	for _, h := range []Holder{other, {User: "Kim, Min@AD", Host: "cp1", Command: "airgap certs rotate-ca"}} {
		got := holderOf(leaseOf(h))
		assert.Equal(t, h.String(), got.String())
	}
}

// TestRace checks with a real API server that only one of two hosts takes over the Lease of a dead one.
func TestRace(t *testing.T) {
	server := apitest.Start(t)
	client := server.Client(t)
	_, err := client.CoordinationV1().Leases(namespace).Create(t.Context(), leaseOf(other), metav1.CreateOptions{})
	require.NoError(t, err)
	taken := make(chan error, 2)
	for _, host := range []string{"cp2", "cp3"} {
		k := keeperOf(server.Client(t), "lee", host, "airgap upgrade")
		k.other = observation{holder: holderOf(leaseOf(other)), still: lasts}
		go func() { taken <- k.attempt(t.Context(), t.Logf) }()
	}
	first, second := <-taken, <-taken
	if first != nil {
		first, second = second, first
	}
	require.NoError(t, first)
	_, held := errors.AsType[*HeldError](second) // it read the Lease after the other host's write
	require.True(t, held || errors.Is(second, errWaits), "%v", second)
	h, err := Read(t.Context(), client)
	require.NoError(t, err)
	assert.Equal(t, "lee", h.User)
	k := keeperOf(client, "lee", h.Host, "airgap upgrade") // continues after a kill
	require.NoError(t, k.attempt(t.Context(), t.Logf))
	k.release(t.Context())
	h, err = Read(t.Context(), client)
	require.NoError(t, err)
	assert.Nil(t, h)
}
