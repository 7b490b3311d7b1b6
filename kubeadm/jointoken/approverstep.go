package jointoken

import (
	"context"
	_ "embed"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/manifests"
)

// ApproverUnit is the systemd unit of the Approver on each control-plane host.
const ApproverUnit = "airgap-join-approver.service"

//go:embed airgap-join-approver.service
var approverUnit []byte

// Units returns the content of this package's systemd units by name.
func Units() (map[string][]byte, error) {
	return map[string][]byte{ApproverUnit: approverUnit}, nil
}

// autoApproval is kubeadm's ClusterRoleBinding that lets the controller manager approve the
// certificate of any node for any bootstrap token. kubeadm init and kubeadm upgrade create it.
const autoApproval = "kubeadm:node-autoapprove-bootstrap"

// ApproverStep starts the Approver on this control-plane host and deletes kubeadm's automatic
// approval. Its undo only stops the unit, because the objects are deleted with the cluster.
func ApproverStep(m host.Machine) step.Step {
	a := approving{m}
	return step.Step{
		Name: "join-approver", Title: "Start the approver of join tokens",
		Done: a.done, Plan: a.plan, Run: a.run,
		Undo: func(ctx context.Context) error { return m.Run(ctx, "systemctl", "disable", "--now", ApproverUnit) },
	}
}

type approving struct{ m host.Machine }

func (a approving) applied() step.Step {
	objects := manifests.Applied{
		Connect: func() (*rest.Config, error) { return kube.RESTConfig(a.m, kube.AdminConf) },
		Objects: manifests.Embedded("join.yaml"),
	}
	return objects.Step("", "")
}

func (a approving) done(ctx context.Context) (bool, error) {
	if runs, err := a.m.UnitRuns(ctx, ApproverUnit); err != nil || !runs {
		return false, err
	}
	client, err := kube.Client(a.m, kube.AdminConf)
	if err != nil {
		return false, err
	}
	_, err = client.RbacV1().ClusterRoleBindings().Get(ctx, autoApproval, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	return a.applied().Done(ctx)
}

func (a approving) plan(ctx context.Context) ([]string, error) {
	changes, err := a.applied().Plan(ctx)
	return append(changes, "delete ClusterRoleBinding "+autoApproval, "enable and start "+ApproverUnit), err
}

func (a approving) run(ctx context.Context) error {
	if err := a.applied().Run(ctx); err != nil {
		return err
	}
	client, err := kube.Client(a.m, kube.AdminConf)
	if err != nil {
		return err
	}
	if err := deleteAutoApproval(ctx, client); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", ApproverUnit}, {"restart", ApproverUnit}} {
		if err := a.m.Run(ctx, "systemctl", args...); err != nil {
			return runtime.Explain(ctx, a.m, host.Failure{What: "start the approver of join tokens", Err: err, Unit: ApproverUnit})
		}
	}
	return nil
}

func deleteAutoApproval(ctx context.Context, client kubernetes.Interface) error {
	err := client.RbacV1().ClusterRoleBindings().Delete(ctx, autoApproval, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete ClusterRoleBinding %s: %w", autoApproval, err)
	}
	return nil
}
