package attack

import (
	"context"

	"airgap.dev/airgap/e2e/scenario"
)

// attackCluster plays item 6: attacks with the token of the data-plane probe and with the
// token of flannel.
func attackCluster(ctx context.Context, e *scenario.Env, t target) []scenario.Part {
	return []scenario.Part{
		{Title: "a data-plane pod's token writes no other pod's status", Run: func() error { return probeToken(ctx, e, t) }},
		{Title: "flannel's token writes no other node", Run: func() error { return flannelToken(ctx, e, t) }},
	}
}

// asPod acts as a pod: with a token that is bound to the pod, and without a certificate. kubectl
// reads an object before it patches it. These accounts cannot do that, so curl sends the requests.
const asPod = `set -e
umask 077
trap 'rm -f /run/attack.header /run/attack.log' EXIT
k='kubectl --kubeconfig /etc/kubernetes/admin.conf'
server=$($k config view --minify -o jsonpath='{.clusters[0].cluster.server}')
# as NAMESPACE ACCOUNT POD writes the header that authenticates as the pod
as() {
	uid=$($k -n "$1" get pod "$3" -o jsonpath='{.metadata.uid}')
	{ printf 'Authorization: Bearer '; $k -n "$1" create token "$2" --bound-object-kind Pod --bound-object-name "$3" --bound-object-uid "$uid"; } >/run/attack.header
}
# api PATH CURL-ARGUMENTS...
api() {
	path=$1; shift
	curl --silent --show-error --fail-with-body --max-time 30 --cacert /etc/kubernetes/pki/ca.crt -H @/run/attack.header "$@" "$server$path"
}
patch() { api "$1" -X PATCH -H 'Content-Type: application/strategic-merge-patch+json' --data "$2"; }
# refused WORDS COMMAND... runs a command that must fail with these words
refused() {
	words=$1; shift
	if "$@" >/run/attack.log 2>&1; then echo "succeeded: $*" >&2; exit 1; fi
	grep -q -- "$words" /run/attack.log || { cat /run/attack.log >&2; exit 1; }
}
`

func probeToken(ctx context.Context, e *scenario.Env, t target) error {
	return e.Script(ctx, t.first, asPod+`
pods=$($k -n airgap-system get pods -l app.kubernetes.io/name=data-plane -o name)
own=$(echo "$pods" | sed -n 1p); own=${own#pod/}
other=$(echo "$pods" | sed -n 2p); other=${other#pod/}
test -n "$other"
as airgap-system data-plane "$own"
ns=/api/v1/namespaces/airgap-system/pods
down='{"status":{"conditions":[{"type":"airgap.dev/DataPlane","status":"False","reason":"attack"}]}}'
refused 'may change only the status of the pod that its token is bound to' patch "$ns/$other/status" "$down"
refused 'may change only its condition' patch "$ns/$own/status" '{"status":{"phase":"Failed"}}'
refused 'may change only its condition' patch "$ns/$own/status" '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}'
refused 'orbidden' api "$ns/$other" -X DELETE
refused 'orbidden' api /api/v1/namespaces/kube-system/secrets
`)
}

func flannelToken(ctx context.Context, e *scenario.Env, t target) error {
	return e.Script(ctx, t.first, asPod+`
pod=$($k -n kube-flannel get pods --field-selector spec.nodeName=`+t.worker.Name()+` -o name | head -n 1)
as kube-flannel flannel "${pod#pod/}"
refused 'may change only the node that its pod runs on' patch /api/v1/nodes/`+t.first.Name()+`/status '{"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"10.0.0.66"}}}'
`)
}
