package jointoken

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/verify/apitest"
)

// TestApproverStep: the step deletes kubeadm's binding each time kubeadm creates it, and starts the
// unit.
func TestApproverStep(t *testing.T) {
	server := apitest.Start(t)
	client := server.Client(t)
	f, m := hosttest.New(t)
	a := kubetest.NewAPI(t)
	conf := strings.ReplaceAll(a.Kubeconfig(server.Config.CAFile), a.URL, server.Config.Host)
	f.Put(t, kube.AdminConf, strings.ReplaceAll(conf, "user: {}}", "user: {token: "+server.Config.BearerToken+"}}"))
	runs := false
	is := func(host.Cmd) ([]byte, error) {
		if !runs {
			return nil, &host.CommandError{Argv: []string{"systemctl"}, ExitCode: 3}
		}
		return nil, nil
	}
	f.Answers["systemctl is-enabled --quiet "+ApproverUnit] = is
	f.Answers["systemctl is-active --quiet "+ApproverUnit] = is
	f.Answers["systemctl restart "+ApproverUnit] = func(host.Cmd) ([]byte, error) { runs = true; return nil, nil }
	f.Answers["systemctl disable --now "+ApproverUnit] = func(host.Cmd) ([]byte, error) { runs = false; return nil, nil }

	bindings := client.RbacV1().ClusterRoleBindings()
	s := ApproverStep(m)
	for range 2 { // kubeadm upgrade creates the binding again
		if _, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: autoApproval},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "x"},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		hosttest.MustBeDone(t, s.Done, false)
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		hosttest.MustBeDone(t, s.Done, true)
		if _, err := bindings.Get(t.Context(), autoApproval, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("read kubeadm's binding: got %v, want not found", err)
		}
	}
	if err := bindings.Delete(t.Context(), "airgap:join-approver", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if err := s.Undo(t.Context()); err != nil || runs {
		t.Errorf("after the undo: got %v, unit runs %v, want neither", err, runs)
	}
	hosttest.MustBeDone(t, s.Done, false)
}
