package phases

import "testing"

// TestSealed: no other host can open data sealed for a host, or replace its request.
func TestSealed(t *testing.T) {
	kem, _, _ := sealing()
	mine, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := kem.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	x := Coordinator{Node: "cp2", Name: "airgap-rotation"}
	sealed, err := x.sealed(mine.PublicKey().Bytes(), []byte("the key"))
	if err != nil {
		t.Fatal(err)
	}
	m := &State{Data: map[string][]byte{"for.cp2": mine.PublicKey().Bytes(), "key.cp2": sealed}}
	if text, err := x.Take(m, mine); err != nil || string(text) != "the key" {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := x.Take(m, other); text != nil || err != nil {
		t.Errorf("a key for another run was taken: %v", err)
	}
	m.Data["for.cp2"] = other.PublicKey().Bytes()
	if text, err := x.Take(m, other); text != nil || err == nil {
		t.Error("opened data that was not sealed for it")
	}
	m.Data["for.cp2"] = mine.PublicKey().Bytes()
	if _, err := (Coordinator{Node: "cp2", Name: "another"}).Take(m, mine); err == nil {
		t.Error("opened data that was sealed for another rotation")
	}
}
