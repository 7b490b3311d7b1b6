package exchange

import "testing"

// TestSealed: nobody else can open what was sealed for a host, nor pass for its answer.
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
	x := Exchange{Node: "cp2", Name: "airgap-rotation"}
	sealed, err := x.sealed(mine.PublicKey().Bytes(), []byte("the key"))
	if err != nil {
		t.Fatal(err)
	}
	m := &Minutes{Data: map[string][]byte{"for.cp2": mine.PublicKey().Bytes(), "key.cp2": sealed}}
	if text, err := x.Take(m, mine); err != nil || string(text) != "the key" {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := x.Take(m, other); text != nil || err != nil {
		t.Errorf("a key for another run was taken: %v", err)
	}
	m.Data["for.cp2"] = other.PublicKey().Bytes()
	if text, err := x.Take(m, other); text != nil || err == nil {
		t.Error("opened what was not sealed for it")
	}
	m.Data["for.cp2"] = mine.PublicKey().Bytes()
	if _, err := (Exchange{Node: "cp2", Name: "another"}).Take(m, mine); err == nil {
		t.Error("opened what was sealed for something else")
	}
}
