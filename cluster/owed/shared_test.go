package owed_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/host"
)

var monday = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

func onHost(t *testing.T) owed.File {
	t.Helper()
	return owed.File(filepath.Join(t.TempDir(), "owed.json"))
}

func join(node string) owed.Debt {
	return owed.Debt{Node: node, Command: owed.Join, Why: "refused", Since: monday}
}

// names returns the nodes of debts.
func names(debts []owed.Debt) string {
	var all []string
	for _, d := range debts {
		all = append(all, d.Node+" "+d.Command)
	}
	return strings.Join(all, ", ")
}

// knows checks what a host knows with the cluster.
func knows(t *testing.T, f owed.File, client kubernetes.Interface, want string) {
	t.Helper()
	got, err := f.Known(t.Context(), client)
	require.NoError(t, err)
	assert.Equal(t, want, names(got))
}

// TestFirstHostIsLost: another control-plane host knows the debts, pays them, and the first host learns that.
func TestFirstHostIsLost(t *testing.T) {
	client, cp1, cp2 := fake.NewClientset(), onHost(t), onHost(t)
	knows(t, cp1, client, "")
	require.NoError(t, cp1.Owe(join("w1"), join("w2")))
	knows(t, cp1, client, "w1 join, w2 join") // before it is sent
	knows(t, cp2, client, "")
	require.NoError(t, cp1.Share(t.Context(), client))
	knows(t, cp2, client, "w1 join, w2 join")

	require.NoError(t, cp2.Paid(owed.Join, "w1")) // cp2 has no record of it
	knows(t, cp2, client, "w2 join")
	require.NoError(t, cp2.Share(t.Context(), client))
	knows(t, cp1, client, "w2 join")
	require.NoError(t, cp1.Share(t.Context(), client))
	own, err := cp1.Read()
	require.NoError(t, err)
	assert.Equal(t, "w2 join", names(own))
	assert.True(t, own[0].Since.Equal(monday))
	require.NoError(t, cp1.Forget("w2"))
	require.NoError(t, cp1.Share(t.Context(), client))
	knows(t, cp2, client, "")
}

// server is an API server with one ConfigMap. It refuses a write with another resourceVersion.
type server struct {
	object  *corev1.ConfigMap
	version int
	refused int
}

// client returns a client. between is called after its first read.
func (s *server) client(between func()) kubernetes.Interface {
	c, group := fake.NewClientset(), corev1.Resource("configmaps")
	c.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
		is := s.object.DeepCopy()
		if between != nil {
			between()
			between = nil
		}
		if is == nil {
			return true, nil, apierrors.NewNotFound(group, owed.SharedName)
		}
		return true, is, nil
	})
	write := func(verb string, refuse func(*corev1.ConfigMap) error) {
		c.PrependReactor(verb, "configmaps", func(a ktesting.Action) (bool, runtime.Object, error) {
			m := a.(ktesting.CreateAction).GetObject().(*corev1.ConfigMap).DeepCopy()
			if err := refuse(m); err != nil {
				s.refused++
				return true, nil, err
			}
			s.version++
			m.ResourceVersion = strconv.Itoa(s.version)
			s.object = m
			return true, m, nil
		})
	}
	write("create", func(*corev1.ConfigMap) error {
		if s.object != nil {
			return apierrors.NewAlreadyExists(group, owed.SharedName)
		}
		return nil
	})
	write("update", func(m *corev1.ConfigMap) error {
		if m.ResourceVersion != s.object.ResourceVersion {
			return apierrors.NewConflict(group, owed.SharedName, errors.New("it has been modified"))
		}
		return nil
	})
	return c
}

// TestTwoOperators: changes of two hosts at the same time are both kept: the host that finds another version reads again.
func TestTwoOperators(t *testing.T) {
	api, cp1, cp2 := &server{}, onHost(t), onHost(t)
	second := func() { require.NoError(t, cp2.Share(t.Context(), api.client(nil))) }
	require.NoError(t, cp1.Owe(join("w1")))
	require.NoError(t, cp2.Owe(join("w0")))
	require.NoError(t, cp1.Share(t.Context(), api.client(second)))
	assert.Equal(t, 1, api.refused, "both create it")
	knows(t, cp1, api.client(nil), "w0 join, w1 join")

	require.NoError(t, cp1.Owe(join("w2")))
	require.NoError(t, cp2.Owe(join("w3")))
	require.NoError(t, cp2.Paid(owed.Join, "w1"))
	require.NoError(t, cp1.Share(t.Context(), api.client(second)))
	assert.Equal(t, 2, api.refused, "both change it")
	knows(t, cp1, api.client(nil), "w0 join, w2 join, w3 join")
	knows(t, cp2, api.client(nil), "w0 join, w2 join, w3 join")
}

// TestNoAnswer: a cluster that does not answer is not one without debts, and changes are sent later.
func TestNoAnswer(t *testing.T) {
	client, cp1, down := fake.NewClientset(), onHost(t), true
	for _, verb := range []string{"get", "create", "update"} {
		client.PrependReactor(verb, "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
			return down, nil, errors.New("connection refused")
		})
	}
	got, err := cp1.Known(t.Context(), client)
	require.ErrorIs(t, err, owed.ErrCannotTell)
	assert.Empty(t, got)
	require.NoError(t, cp1.Owe(join("w1"), join("w2")))
	require.NoError(t, cp1.Paid(owed.Join, "w2"))
	require.ErrorContains(t, cp1.Share(t.Context(), client), "write the record of owed hosts into the cluster: connection refused")
	got, err = cp1.Known(t.Context(), client)
	require.ErrorIs(t, err, owed.ErrCannotTell)
	assert.Equal(t, "w1 join", names(got))

	down = false
	require.NoError(t, cp1.Share(t.Context(), client))
	knows(t, onHost(t), client, "w1 join")
}

// TestOlderRecord: the first command sends the record of an airgap that kept it on the host alone. After a restored etcd, the
// record is sent again.
func TestOlderRecord(t *testing.T) {
	client, cp1 := fake.NewClientset(), onHost(t)
	require.NoError(t, host.WriteJSON(string(cp1), []owed.Debt{join("w1")}))
	require.NoError(t, cp1.Owe(join("w2")))
	require.NoError(t, cp1.Share(t.Context(), client))
	knows(t, onHost(t), client, "w1 join, w2 join")

	before, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), owed.SharedName, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, cp1.Owe(join("w3")))
	require.NoError(t, cp1.Share(t.Context(), client))
	_, err = client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Update(t.Context(), before, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, cp1.SendAgain())
	require.NoError(t, cp1.SendAgain())
	require.NoError(t, cp1.Share(t.Context(), client))
	knows(t, onHost(t), client, "w1 join, w2 join, w3 join")
}

// TestBrokenShare: text that is no record is an error, and stays.
func TestBrokenShare(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owed.SharedName, Namespace: metav1.NamespaceSystem}, Data: map[string]string{"debts": "{"}})
	cp1 := onHost(t)
	require.NoError(t, cp1.Owe(join("w1")))
	require.ErrorContains(t, cp1.Share(t.Context(), client), "ConfigMap kube-system/airgap-owed")
	_, err := cp1.Known(t.Context(), client)
	require.ErrorIs(t, err, owed.ErrCannotTell)
}

// TestManyDebts: the reasons of thousands of hosts are cut, so that the object fits.
func TestManyDebts(t *testing.T) {
	client, cp1 := fake.NewClientset(), onHost(t)
	debts := make([]owed.Debt, 0, 3000)
	for i := range 3000 {
		debts = append(debts, owed.Debt{Node: "node" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String(), Command: owed.Join, Why: strings.Repeat("가", 400), Since: monday})
	}
	require.NoError(t, cp1.Owe(debts...))
	require.NoError(t, cp1.Share(t.Context(), client))
	m, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), owed.SharedName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Less(t, len(m.Data["debts"]), 1<<20)
}

// TestUnreadableRecord: a user who may not read the record of the host still sees that of the cluster.
func TestUnreadableRecord(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every file")
	}
	client, cp1, other := fake.NewClientset(), onHost(t), onHost(t)
	require.NoError(t, cp1.Owe(join("w1")))
	require.NoError(t, cp1.Share(t.Context(), client))
	require.NoError(t, os.WriteFile(string(other), nil, 0))
	knows(t, other, client, "w1 join")
}
