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

//go:embed workload.yaml
var workloadYAML string

// kubectl asks as an administrator; exec gives it patience.
const kubectl = "KUBECONFIG=/etc/kubernetes/admin.conf kubectl "

// workload runs a bank's application: images that only our registry has, one
// pod a server, reached across servers, through a Service and by its name.
func (e *Env) workload(ctx context.Context, m lab.Machine) error {
	r, err := e.On(ctx, m, workloadYAML, "sh", "-c", kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := errors.Join(r.want("apply the workload", 0), plantObject(ctx, e, m)); err != nil {
		return err
	}
	if err := e.script(ctx, m,
		kubectl+"rollout status ds/hello --timeout=120s",
		kubectl+"wait --for=condition=Ready pod/tools --timeout=120s",
	); err != nil {
		return err
	}
	for _, target := range []string{
		"$(" + kubectl + "get pod -l app=hello --field-selector spec.nodeName=node2 -o jsonpath={.items[0].status.podIP}):8080",
		"$(" + kubectl + "get pod -l app=hello --field-selector spec.nodeName=node1 -o jsonpath={.items[0].status.podIP}):8080",
		"$(" + kubectl + "get svc hello -o jsonpath={.spec.clusterIP}):80",
		"hello.default.svc.cluster.local:80",
	} {
		// kube-proxy learns of a ready pod a moment after kubectl does, and refuses
		// connections to the Service till then.
		get := kubectl + "exec tools -- tools get http://" + target + "/"
		if err := e.script(ctx, m, "for i in $(seq 20); do "+get+" 2>/dev/null && exit; sleep 1; done; "+get); err != nil {
			return fmt.Errorf("reach %s: %w", target, err)
		}
	}
	return nil
}

// broken puts a pod into kube-system whose image nobody has, wants it named with exit
// code 4, as the runtime words it, and a good verdict once it is gone. Our registry
// alone was asked: nobody looked up the host in the image's name.
func broken(ctx context.Context, e *Env, m lab.Machine, words string) error {
	if err := e.script(ctx, m, kubectl+"-n kube-system run stranger --image=registry.example/nobody/has:it"); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the kubelet has to try once
	r, err := e.On(ctx, m, "", "airgap", "verify", e.skips(), "--timeout", "20s")
	if err != nil {
		return err
	}
	if err := r.want("verify with a broken pod", 4, "kube-system/stranger", words); err != nil {
		return err
	}
	if strings.Contains(r.Stdout, "lookup registry.example") {
		return fmt.Errorf("the runtime fell back to the upstream host:\n%s", r.Stdout)
	}
	if err := e.script(ctx, m, kubectl+"-n kube-system delete pod stranger --now"); err != nil {
		return err
	}
	return e.verified(ctx, m)
}
