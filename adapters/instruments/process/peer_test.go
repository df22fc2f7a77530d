package process_test

func misbehaveIfAsked() {}
