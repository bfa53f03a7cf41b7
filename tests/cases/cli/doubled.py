def g14(x):
    def g13(x):
        def g12(x):
            def g11(x):
                def g10(x):
                    def g9(x):
                        def g8(x):
                            def g7(x):
                                def g6(x):
                                    def g5(x):
                                        def g4(x):
                                            def g3(x):
                                                def g2(x):
                                                    def g1(x):
                                                        def g0(x):
                                                            return x + 1
                                                        return g0(x) + g0(x + 1)
                                                    return g1(x) + g1(x + 1)
                                                return g2(x) + g2(x + 1)
                                            return g3(x) + g3(x + 1)
                                        return g4(x) + g4(x + 1)
                                    return g5(x) + g5(x + 1)
                                return g6(x) + g6(x + 1)
                            return g7(x) + g7(x + 1)
                        return g8(x) + g8(x + 1)
                    return g9(x) + g9(x + 1)
                return g10(x) + g10(x + 1)
            return g11(x) + g11(x + 1)
        return g12(x) + g12(x + 1)
    return g13(x) + g13(x + 1)
