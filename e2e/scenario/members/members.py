# Looks at etcd and the API server once a second, as this control-plane host sees
# them, and prints a line of JSON for each look.
import json, ssl, sys, time, urllib.request

PKI = "/etc/kubernetes/pki/"
etcd = ssl.create_default_context(cafile=PKI + "etcd/ca.crt")
etcd.load_cert_chain(PKI + "apiserver-etcd-client.crt", PKI + "apiserver-etcd-client.key")
api = ssl.create_default_context(cafile=PKI + "ca.crt")


def ask(url, context, body=None):
    with urllib.request.urlopen(url, data=body, timeout=2, context=context) as answer:
        return answer.read()


def well(member):
    try:
        status = json.loads(ask(member["clientURLs"][0] + "/v3/maintenance/status", etcd, b"{}"))
        return status.get("leader", "0") != "0"
    except Exception:
        return False


while True:
    look = {"at": time.time(), "api": True, "members": None}
    try:
        ask("https://" + sys.argv[1] + "/readyz", api)
    except Exception:
        look["api"] = False
    try:
        members = json.loads(ask("https://127.0.0.1:2379/v3/cluster/member/list", etcd, b"{}"))["members"]
        look["members"] = [
            {"name": m.get("name", ""), "learner": m.get("isLearner", False), "well": well(m)} for m in members
        ]
    except Exception:
        pass
    print(json.dumps(look), flush=True)
    time.sleep(1)
