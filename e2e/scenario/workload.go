package scenario

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// WorkloadYAML is the workload of the scenarios.
//
//go:embed workload.yaml
var WorkloadYAML string

// Kubectl calls kubectl as administrator; exec adds retries.
const Kubectl = "KUBECONFIG=/etc/kubernetes/admin.conf kubectl "

// Workload runs an application with images that only airgap's registry has and one pod for
// each server. It checks the connections between servers, through a Service and by DNS name.
func (e *Env) Workload(ctx context.Context, m lab.Machine) error {
	r, err := e.On(ctx, m, WorkloadYAML, "sh", "-c", Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := errors.Join(r.Want("apply the workload", 0), PlantObject(ctx, e, m)); err != nil {
		return err
	}
	if err := e.Script(ctx, m,
		Kubectl+"rollout status ds/hello --timeout=120s",
		Kubectl+"wait --for=condition=Ready pod/tools --timeout=120s",
	); err != nil {
		return err
	}
	for _, target := range []string{
		"$(" + Kubectl + "get pod -l app=hello --field-selector spec.nodeName=node2 -o jsonpath={.items[0].status.podIP}):8080",
		"$(" + Kubectl + "get pod -l app=hello --field-selector spec.nodeName=node1 -o jsonpath={.items[0].status.podIP}):8080",
		"$(" + Kubectl + "get svc hello -o jsonpath={.spec.clusterIP}):80",
		"hello.default.svc.cluster.local:80",
	} {
		// kube-proxy sees a ready pod a moment later than kubectl, and refuses connections
		// to the Service until then.
		get := Kubectl + "exec tools -- tools get http://" + target + "/"
		if err := e.Script(ctx, m, "for i in $(seq 20); do "+get+" 2>/dev/null && exit; sleep 1; done; "+get); err != nil {
			return fmt.Errorf("reach %s: %w", target, err)
		}
	}
	return nil
}

// Broken creates a pod in kube-system with an image that does not exist. verify must report
// it with exit code 4 and the runtime's message, and pass after its removal. The runtime must
// ask only airgap's registry and not look up the host in the image's name.
func Broken(ctx context.Context, e *Env, m lab.Machine, words string) error {
	if err := e.Script(ctx, m, Kubectl+"-n kube-system run stranger --image=registry.example/nobody/has:it"); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // until the kubelet has tried once
	r, err := e.On(ctx, m, "", "airgap", "verify", e.Skips(), "--timeout", "20s")
	if err != nil {
		return err
	}
	if err := r.Want("verify with a broken pod", 4, "kube-system/stranger", words); err != nil {
		return err
	}
	if strings.Contains(r.Stdout, "lookup registry.example") {
		return fmt.Errorf("the runtime fell back to the upstream host:\n%s", r.Stdout)
	}
	if err := e.Script(ctx, m, Kubectl+"-n kube-system delete pod stranger --now"); err != nil {
		return err
	}
	return e.Verified(ctx, m)
}

// VerifyNamesDriver repeats verify until it reports a host's different cgroup driver: a host reports
// once a minute.
const VerifyNamesDriver = `for n in $(seq 40); do
	airgap verify --only cgroups --timeout 1m --soak 1s >/run/said; code=$?
	[ $code = 0 ] || break
	sleep 15
done
[ $code = 4 ] && grep cgroupfs /run/said`
