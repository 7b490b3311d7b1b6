# Checks etcd and the API server from this control-plane host once a second, and prints a
# line of JSON for each check.
import json, ssl, sys, time, urllib.request

PKI = "/etc/kubernetes/pki/"
etcd = ssl.create_default_context(cafile=PKI + "etcd/ca.crt")
etcd.load_cert_chain(PKI + "apiserver-etcd-client.crt", PKI + "apiserver-etcd-client.key")
api = ssl.create_default_context(cafile=PKI + "ca.crt")


def ask(url, context, body=None):
    with urllib.request.urlopen(url, data=body, timeout=2, context=context) as answer:
        return answer.read()


def healthy(member):
    try:
        status = json.loads(ask(member["clientURLs"][0] + "/v3/maintenance/status", etcd, b"{}"))
        return status.get("leader", "0") != "0"
    except Exception:
        return False


while True:
    line = {"at": time.time(), "api": True, "members": None}
    try:
        ask("https://" + sys.argv[1] + "/readyz", api)
    except Exception:
        line["api"] = False
    try:
        members = json.loads(ask("https://127.0.0.1:2379/v3/cluster/member/list", etcd, b"{}"))["members"]
        line["members"] = [
            {"name": m.get("name", ""), "learner": m.get("isLearner", False), "healthy": healthy(m)} for m in members
        ]
    except Exception:
        pass
    print(json.dumps(line), flush=True)
    time.sleep(1)
