package scenario

import "context"

// attackCluster plays item 6: the data-plane probe's token, and flannel's.
func (e *Env) attackCluster(ctx context.Context, t target) []part {
	return []part{
		{"a data-plane pod's token writes no other pod's status", func() error { return e.probeToken(ctx, t) }},
		{"flannel's token writes no other node", func() error { return e.flannelToken(ctx, t) }},
	}
}

// asPod has kubectl act as a pod: with a token that is bound to it, and no certificate.
const asPod = `set -e
umask 077
trap 'rm -f /run/attack.token /run/attack.conf /run/attack.log' EXIT
k='kubectl --kubeconfig /etc/kubernetes/admin.conf'
server=$($k config view --minify -o jsonpath='{.clusters[0].cluster.server}')
# as NAMESPACE ACCOUNT POD makes /run/attack.conf
as() {
	uid=$($k -n "$1" get pod "$3" -o jsonpath='{.metadata.uid}')
	$k -n "$1" create token "$2" --bound-object-kind Pod --bound-object-name "$3" --bound-object-uid "$uid" >/run/attack.token
	cat >/run/attack.conf <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$server", certificate-authority: /etc/kubernetes/pki/ca.crt}}]
users: [{name: u, user: {tokenFile: /run/attack.token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
}
a='kubectl --kubeconfig /run/attack.conf'
# refused WORDS COMMAND... runs a command that has to fail with these words
refused() {
	words=$1; shift
	if "$@" >/run/attack.log 2>&1; then echo "done: $*" >&2; exit 1; fi
	grep -q -- "$words" /run/attack.log || { cat /run/attack.log >&2; exit 1; }
}
`

func (e *Env) probeToken(ctx context.Context, t target) error {
	return e.script(ctx, t.first, asPod+`
pods=$($k -n airgap-system get pods -l app.kubernetes.io/name=data-plane -o name)
own=$(echo "$pods" | sed -n 1p); own=${own#pod/}
other=$(echo "$pods" | sed -n 2p); other=${other#pod/}
test -n "$other"
as airgap-system data-plane "$own"
patch() { $a -n airgap-system patch pod "$1" --subresource status --type strategic -p "$2"; }
down='{"status":{"conditions":[{"type":"airgap.dev/DataPlane","status":"False","reason":"attack"}]}}'
refused 'may change only the status of the pod that its token is bound to' patch "$other" "$down"
refused 'may change only its condition' patch "$own" '{"status":{"phase":"Failed"}}'
refused 'may change only its condition' patch "$own" '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}'
refused 'orbidden' $a -n airgap-system delete pod "$other"
refused 'orbidden' $a -n kube-system get secrets
`)
}

func (e *Env) flannelToken(ctx context.Context, t target) error {
	return e.script(ctx, t.first, asPod+`
pod=$($k -n kube-flannel get pods --field-selector spec.nodeName=`+t.worker.Name()+` -o name | head -n 1)
as kube-flannel flannel "${pod#pod/}"
refused 'may change only the node that its pod runs on' $a patch node `+t.first.Name()+` --subresource status --type merge -p '{"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":"10.0.0.66"}}}'
`)
}
